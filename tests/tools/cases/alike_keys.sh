# Every letter that Unicode can write in two ways, in Latin, Greek and Cyrillic: each makes a pair of keys, which the
# note counts. Python's tables of Unicode say which letters these are, and how many.
python3 - <<'END' >letters.csv
import sys, unicodedata
letters = [chr(code) for code in (*range(0x530), *range(0x1e00, 0x1f00))]
pairs = [(unicodedata.normalize('NFC', letter), unicodedata.normalize('NFD', letter)) for letter in letters]
keys = dict.fromkeys(f'x{form}y' for pair in pairs if pair[0] != pair[1] for form in pair
                     if all(0x300 <= ord(mark) < 0x370 for mark in pair[1][1:]))
print('letter,n', *(f'{key},1' for key in keys), sep='\n')
print(len(keys) // 2, 'pairs', file=sys.stderr)
END
blco-ingest letters.csv --modes letter --value n -o letters.blco 2>&1 | grep -o 'the mode.*'
