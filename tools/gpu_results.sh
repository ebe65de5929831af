# What gpu_measure.sh, which sources this, writes of its steps.

# What a step printed, once it has run.
show() { [ ! -s "$work/$1.log" ] && echo 'Not measured.' || printf '```\n%s\n```\n' "$(cat "$work/$1.log")"; }

# Millions of nonzeros a second, the means over the modes, by step, place and resolution; read from the table of a step.
declare -A speeds
read_speeds() {
  local place resolution speed
  while read -r place resolution speed; do
    speeds[$1 $place $resolution]=$speed
  done < <(awk '$3 == "mean" { print $1, $2, $4 }' "$work/$1.log")
}

print_kernels() {
  local name kind values=()
  printf '| tensor | nonzeros |%s\n' "$(printf ' %s |' "${kinds[@]}")"
  printf '| --- | ---: |%s\n' "$(printf ' ---: |%.0s' "${kinds[@]}")"
  for name in "${tensors[@]}"; do
    printf '| %s | %s |' "$name" "$(cat "$work/$name.nnz" 2>/dev/null || echo -)"
    for kind in "${kinds[@]}"; do printf ' %s |' "${speeds[$name-$kind memory auto]--}"; done
    printf '\n'
    values+=("${speeds[$name-usual memory auto]-0}")
  done
  printf '%s\n' "${values[@]}" | awk '
    $1 + 0 <= 0 { lacks = 1 }
    { sum += log($1 + 0 > 0 ? $1 : 1); count++ }
    END { if (!lacks) printf "\nGeometric mean of the tensors, usual: %.1f\n", exp(sum / count) }'
  printf '\nA by resolution: register-based %s, hierarchical %s. A, usual, once more at the end: %s.\n' \
    "${speeds[A-usual memory register]--}" "${speeds[A-usual memory hierarchical]--}" "${speeds[A-again memory auto]--}"
}

# Rows of steps, in memory and streamed.
print_places() {
  local heading=$1 name memory streamed ratio
  shift
  printf '| %s | in memory | streamed | ratio |\n| --- | ---: | ---: | ---: |\n' "$heading"
  for name in "$@"; do
    memory=${speeds[$name memory auto]--}
    streamed=${speeds[$name streamed auto]--}
    ratio=-
    [ "$streamed" = - ] || ratio=$(awk -v a="$streamed" -v b="$memory" 'BEGIN { printf "%.2f", a / b }')
    printf '| %s | %s | %s | %s |\n' "$name" "$memory" "$streamed" "$ratio"
  done
}

publish() {
  [ -n "${bin-}" ] || return 0
  {
    cat <<END
# What GPUs have seen

Written by \`tools/gpu_check.sh${full:+ $full}\` in $SECONDS s.

| | |
| --- | --- |
| date | $(date -u +%F) |
| GPU | ${device:-unknown} |
| driver, compute capability, memory, clocks at most, link | $(head -n 1 "$work/describe.log" 2>/dev/null | grep . || echo unknown) |
| programs | $(cat "$folder/commit"), in ${bin#"$(dirname "$folder")"/} |
| tests | $tests |
| compute-sanitizer memcheck | ${sanitized[memcheck]} |
| compute-sanitizer racecheck | ${sanitized[racecheck]} |
| compute-sanitizer initcheck | ${sanitized[initcheck]} |
| first start: driver, context, cuBLAS | $first_start ms |

END
    if [ -s "$work/problems" ]; then printf '## Problems\n\n%s\n\n' "$(cat "$work/problems")"; fi
    if [ -s "$work/failures" ]; then printf '```\n%s\n```\n\n' "$(cat "$work/failures")"; fi
    cat <<END
## Our kernel

Millions of nonzeros a second and mode, all chunks in device memory, rank $rank but for rank-16 and rank-20, in f64 but
for mixed and f32. usual: as many blocks a multiprocessor as fit. \`blco-bench --help\` says what the others are.

$(print_kernels)

## Link, L2 cache and additions

Of f64, then of f32, which shares below are relative to; then the levels of memory.

$(for kind in usual f32; do sed -n 's/^device */- /p' "$work/A-$kind.log" 2>/dev/null; done)

$(show roofline)

## Whole sweeps

H, rank $rank, f64: the GPU alone, then the CPU, which leads, with the GPU.

$(show H-sweeps)

$(show H-shared)

## Streamed

A, f64. The slots are as planned, or 8; chunks come from pinned memory, or from disk. $disk

$(print_places step A-streamed A-slots-8 A-disk)

## Formats of others

$(show formats-all)

## A loss pass

$(show A-loss)

## Nonzeros a launch

$(print_places chunk A-streamed A-chunk-262144 A-chunk-4194304)

## Counters of one launch

A, f64, the MTTKRP kernel by itself on 16 chunks.

$counters

## Steps

While a step ran: MHz of the multiprocessors, most watts, and bits of the reasons why the clock was lower (0x4 the power
limit, 0x8 and 0x80 the hardware, 0x20 and 0x40 heat).

| step | limit, s | took, s | MHz | W | lowered by | outcome |
| --- | ---: | ---: | --- | ---: | --- | --- |
$(cat "$work/steps")

All limits together: $sum_of_limits s.

## Tables
END
    cat "$work/details"
  } >"$results.new" && mv "$results.new" "$results"
  [ -z "$logs" ] || tar -C "$work" --exclude='*.blco' --exclude=./pack --exclude=./inner -czf "$logs/logs.tar.gz" .
}
