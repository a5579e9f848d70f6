//! The style sheet of the page: two colour schemes, screen widths from a phone up, print.
//!
//! Colours of arms are far apart in lightness as well as in hue, and every arm has a shape of its
//! own. Sizes of text in figures are in units of their drawing, 720 or 480 wide, so they are set
//! anew where figures shrink to a phone.

pub(super) const STYLE: &str = "
:root{color-scheme:light dark;
 --paper:#fbfaf7;--card:#fff;--ink:#1c2127;--soft:#5a626d;--line:#e2dfd7;--strong:#8d9097;
 --band:#e4dfd0;--track:#f2f0ea;--link:#0b5cad;--good:#0a6b47;--bad:#b3261e;--doubt:#8a5a00;--calm:#41586f;
 --guess:#6b2fa0;--copy:#8a3a12;--notice:#fff3d6;--c0:#5d6875;--c1:#0f62b8;--c2:#c4520a;--c3:#0b7d5b;--c4:#8a3aa0;--c5:#8a6d00}
@media screen and (prefers-color-scheme:dark){:root{
 --paper:#14171a;--card:#1b1f24;--ink:#e9e6df;--soft:#a4abb4;--line:#2e333a;--strong:#757c86;
 --band:#333a43;--track:#1d2126;--link:#7fb8ff;--good:#5fd3a4;--bad:#ff8a80;--doubt:#e9b65a;--calm:#a9c3de;
 --guess:#cfa4f5;--copy:#f2a67c;--notice:#3a2f14;--c0:#aab4c0;--c1:#6db2ff;--c2:#ff9b5e;--c3:#52cfa0;--c4:#d59be8;--c5:#e0c050}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);
 font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif}
main{max-width:1120px;margin:0 auto;padding:40px 32px 80px}
a{color:var(--link)}
p{max-width:72ch;margin:0 0 1em}
h1,h2{font-family:ui-serif,Charter,'Iowan Old Style',Georgia,'Liberation Serif',serif;
 font-weight:600;text-wrap:pretty}
h1{font-size:clamp(1.5rem,1.1rem + 1.6vw,2.1rem);line-height:1.25;margin:0 0 .5em;max-width:32em}
h2{font-size:1.5rem;line-height:1.25;margin:0 0 .8em;padding-top:.9em;border-top:1px solid var(--line)}
section{margin-top:3rem}
.eyebrow{font-size:.8rem;letter-spacing:.08em;text-transform:uppercase;color:var(--soft);
 margin:0 0 1.2em;max-width:none;overflow-wrap:anywhere}
.eyebrow b{font-weight:600;color:var(--ink);text-transform:none;letter-spacing:0;font-size:.9rem}
.notice{background:var(--notice);border-left:4px solid var(--doubt);padding:.75em 1em;
 max-width:none;font-weight:500;margin:0 0 1.6em}
.facts,.note,figcaption,.small{color:var(--soft);font-size:.875rem}
.answer{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:16px 48px;align-items:start}
.answer .cards{margin:0 0 1.4em;display:block;max-width:440px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,290px),1fr));gap:16px;
 margin:1.8em 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:20px 24px}
.card p{margin:0;overflow-wrap:anywhere}
.card .big{font-size:clamp(2.4rem,2rem + 2vw,3.4rem);line-height:1.15;font-weight:650;
 font-variant-numeric:tabular-nums;letter-spacing:-.02em;white-space:nowrap}
.card .small{margin-top:.5em;color:var(--soft)}
.badges{margin:0 0 .6em}.badge{display:inline-block;margin:0 .35em .3em 0;padding:.12em .7em;
 border-radius:99px;border:2px solid currentColor;font-size:.82rem;font-weight:700;letter-spacing:.05em}
.badge.measured{color:var(--paper);background:var(--ink);border-color:var(--ink)}
.predicted{color:var(--guess)}.emulated{color:var(--copy)}.interim,.screening,.not-alike{color:var(--doubt)}
.badge.predicted{border-style:dashed}.badge.emulated{border-style:dotted}.badge.interim{border-style:double;border-width:4px}
.card.predicted{border:2px dashed}.card.emulated{border:3px dotted}
.card p{color:var(--ink)}
.helps{color:var(--good)}.hurts,.failed-cell{color:var(--bad)}
.inconclusive,.no-direction-visible{color:var(--doubt)}.no-material-difference{color:var(--calm)}
nav{font-size:.875rem;margin:1.6em 0 0}
nav a{margin-right:1.1em;display:inline-block;text-decoration:none;line-height:1.9}
nav a:hover{text-decoration:underline}
.scroll{overflow-x:auto;margin:0 0 .4em;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;font-size:.875rem;line-height:1.4;min-width:min(100%,420px)}
caption{text-align:left;font-weight:600;padding:0 0 .6em;font-size:.95rem}
th,td{text-align:left;padding:.45em 1.25em .45em 0;vertical-align:baseline;
 border-bottom:1px solid var(--line);max-width:34em;overflow-wrap:break-word}
.many th,.many td{padding-right:.8em}
caption span{display:inline-block;position:sticky;left:0;max-width:min(72ch,calc(100vw - 36px))}
thead th{color:var(--soft);font-weight:500;border-bottom:1px solid var(--strong);
 vertical-align:bottom}
tbody th{font-weight:500}
.n{text-align:right;font-variant-numeric:tabular-nums}
tbody .n{white-space:nowrap}
.short{white-space:nowrap}.verdict{min-width:9em}
.total th,.total td{font-weight:650;border-bottom:0;border-top:1.5px solid var(--strong)}
.block{margin:0 0 2.2em}
details{margin:0 0 1.4em}
summary{cursor:pointer;font-weight:600;font-size:.95rem;padding:.3em 0}
ol,ul{padding-left:1.3em;max-width:76ch}
li{margin:.45em 0}
.warnings{list-style:none;padding:0;display:grid;gap:12px}
.warnings li{margin:0;border-left:4px solid var(--doubt);background:var(--card);padding:.7em 1em}
.warnings span{display:block;color:var(--soft)}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.9em 1.1em;
 overflow-x:auto;font:13.5px/1.6 ui-monospace,'SF Mono',Menlo,Consolas,'Liberation Mono',monospace}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));
 gap:36px 40px;margin:0 0 2em}
figure{margin:0;min-width:0;break-inside:avoid}
figure.span{display:grid;grid-template-columns:minmax(0,800px) minmax(180px,1fr);gap:6px 40px;
 margin:0 0 2.2em}
figure.span figcaption{align-self:start}
figcaption b{display:block;color:var(--ink);font-size:.95rem;margin-bottom:.25em;
 overflow-wrap:anywhere}
.grid figcaption{margin-bottom:.6em}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2em 1.4em;padding:0;margin:0 0 1.2em;
 font-size:.875rem;max-width:none}
.legend li{display:flex;align-items:center;gap:.45em;margin:0;overflow-wrap:anywhere}
figure.span .legend{display:block;margin:1em 0 0}
figure.span .legend li{margin:.2em 0}
svg{display:block;width:100%;height:auto;overflow:visible}
svg.key{width:16px;height:16px;flex:none}
svg text{fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round;font-family:inherit;font-variant-numeric:tabular-nums}
.wide text{font-size:13.5px}.half text{font-size:12px}
svg text.tick{fill:var(--soft)}
svg text.strong{font-weight:650}
.a0{--c:var(--c0)}.a1{--c:var(--c1)}.a2{--c:var(--c2)}
.a3{--c:var(--c3)}.a4{--c:var(--c4)}.a5{--c:var(--c5)}
.mark,.bar{fill:var(--c)}
.grid-line,.base,.zero,.whisker,.thread,.step,.needle,.median,.error,.failed,.ring{fill:none}
.grid-line{stroke:var(--line)}
.track{fill:var(--track)}
.base{stroke:var(--strong)}
.zero{stroke:var(--ink);stroke-width:1.2}
.band{fill:var(--band)}
.whisker{stroke:var(--c);stroke-width:2.2}
.thread{stroke:var(--c);opacity:.35}
.next{fill:none;stroke:var(--c);stroke-width:1.2;stroke-dasharray:2 3}
svg text.cell{fill:#1c2127;stroke:none}
svg text.doubt{stroke:none}
.h-none{fill:var(--track)}
.h-better0{fill:#d5e5f4}.h-better1{fill:#a3c8ea}.h-better2{fill:#6ba5dc}.h-better3{fill:#4a90d0}
.h-worse0{fill:#fbe0cd}.h-worse1{fill:#f7bb8f}.h-worse2{fill:#f0955a}.h-worse3{fill:#e07a35}
.step{stroke:var(--c);stroke-width:1.8}
.step.a1,.step.a4{stroke-dasharray:7 3}.step.a2,.step.a5{stroke-dasharray:2 2.5}
.needle{stroke:var(--c);opacity:.75}
.half-box{fill:var(--c);opacity:.22}
.median{stroke:var(--ink);stroke-width:2}
.hollow{fill:var(--paper);stroke:var(--c);stroke-width:1.4}
.failed{stroke:var(--bad);stroke-width:2.2}
.faint{fill:var(--c);opacity:.4}
.ring{stroke:var(--ink);stroke-width:1.4}
.area{fill:var(--c);opacity:.16}
.objective{fill:none;stroke:var(--ink);stroke-width:1.4;stroke-dasharray:7 4}
.drop{fill:none;stroke:var(--c);stroke-width:1.4;stroke-dasharray:2 4}
.error{stroke:var(--ink);stroke-width:1.4}
footer{margin-top:4rem;border-top:1px solid var(--line);padding-top:1em}
@media (max-width:980px){figure.span,.answer{grid-template-columns:minmax(0,1fr)}}
@media (max-width:600px){
 main{padding:24px 18px 56px}section{margin-top:2.2rem}
 .card{padding:16px 18px}
 .wide text{font-size:23px}.half text{font-size:15.5px}
 th,td{padding-right:1em}
 thead th:first-child,tbody th{position:sticky;left:0;background:var(--paper);max-width:42vw}}
@media print{
 @page{margin:15mm}
 body{font-size:10.5pt;background:#fff}
 main{max-width:none;padding:0}nav{display:none}
 section{margin-top:1.6rem}h2{break-after:avoid}
 table{font-size:7.4pt}.facts,.note,figcaption,.small{font-size:8.5pt}caption,summary{font-size:9pt}tr,.card,.warnings li{break-inside:avoid}
 .scroll{overflow:visible}th,td{padding-right:.75em;overflow-wrap:anywhere}
 thead th,tbody .n,.short{white-space:normal}.verdict{min-width:0}
 .card,.warnings li,pre{background:none}.block{break-inside:avoid}summary{break-after:avoid}
 pre{white-space:pre-wrap;overflow-wrap:anywhere}
 .grid{grid-template-columns:1fr 1fr;gap:18px 24px}
 figure.span{grid-template-columns:minmax(0,1fr) 150px;gap:6px 20px}
 details::details-content{content-visibility:visible;height:auto;display:block}
 *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
";
