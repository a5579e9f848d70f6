# Three jobs; what they do is in xtask/src, one file each.

.PHONY: help study test check-all

help:
	@echo "make study      build, then a study of chat on this machine: 6 minutes, leaves a report"
	@echo "make test       everything a change must pass, minutes per stage (under 40 on 2 cores)"
	@echo "make check-all  the long checks: fuzzing and soaks, hours"

study:
	@.ci/needs study
	@cargo xtask study

test:
	@.ci/needs test
	@cargo xtask test

check-all: test
	@cargo xtask check-all
