# Labels and names of modes may hold anything: shown shortened and without effect on a terminal, exported as they are.
python3 - <<'PYTHON'
long = "x" * 1000000
turned = "a\u202egpj.exe"
coloured = "\x1b[31mred"
with open("t.csv", "w") as f:
    f.write(f'who,"when\x07\u2066{"y" * 100}"\n')
    for i, who in enumerate([long, turned, coloured, "plain"]):
        f.write(f"{who},{i % 2}\n" * (4 - i))
PYTHON
name=$(head -n 1 t.csv | cut -d'"' -f2)
visible() { grep -avP '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae|\xe2\x81\xa6' | cut -c 1-200; }
blco-ingest t.csv --modes "who,$name" -o t.blco 2>/dev/null | grep -A1 ^keys | visible
blco-cpd t.blco --rank 1 --sweeps 3 --devices cpu -o m.h5 >/dev/null 2>&1
blco-info t.blco | grep 'mode [01]' | visible
blco-info m.h5 | tail -n 8 | sed -E 's/ -?[0-9]\.[0-9]{3}/ N/g' | visible
echo '--- a message'
blco-info "$(printf 'no\033[31m\342\200\256file')" 2>&1 | visible
echo '--- the bytes come back'
blco-export t.blco -o - --format csv 2>/dev/null | tail -n +2 | cut -d, -f1 | sort -u | cmp - <(tail -n +2 t.csv | cut -d, -f1 | sort -u) && echo same
