#!/bin/sh
# What action.yml runs: a study of two builds, its report as the job's summary (and as a comment of the
# pull request), its status as the job's. Inputs come by the environment, so that no shell reads them.
set -u
: "${OLD:?the command of the reference}" "${NEW:?the command that is judged}"
folder=${FOLDER:-coretwin-study}
set -- study --variant "old=$OLD" --variant "new=$NEW" --out "$folder"
while IFS= read -r word; do
    [ -z "$word" ] || set -- "$@" "$word"
done <<END
${OPTIONS:-}
END
[ -z "${FAIL_ON:-}" ] || set -- "$@" --fail-on "$FAIL_ON"
answer=$(coretwin "$@")
status=$?
printf '%s\n' "$answer"
{
    printf 'verdict=%s\n' "$(printf '%s\n' "$answer" | head -n 1)"
    printf 'folder=%s\n' "$folder"
} >>"${GITHUB_OUTPUT:-/dev/null}"
if [ -f "$folder/report.md" ]; then
    cat "$folder/report.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
    if [ "${COMMENT:-false}" = true ] && [ -n "${PULL_REQUEST:-}" ]; then
        gh pr comment "$PULL_REQUEST" --body-file "$folder/report.md" || echo "no comment was posted" >&2
    fi
fi
exit "$status"
