# Every line of text that is no tensor is refused with file and line, and leaves nothing behind.
refuse() {
  printf "$2" >"$1.tns"
  run blco-ingest "$1.tns" -o out.blco
}
refuse bad_value '1 1 1 1.0\n2 2 2 abc\n3 3 3 3.0\n'
refuse not_a_number '1 1 1 1.0\n2 2 2 nan\n'
refuse infinite '1 1 1 1.0\n2 2 2 inf\n'
refuse overflowing_value '1 1 1 1e999\n'
refuse commas '1,1,1,1.0\n2,2,2,2.0\n'
refuse header 'i\tj\tk\tv\n1\t1\t1\t1.0\n'
refuse negative_coordinate '1 1 1 1.0\n-2 2 2 1.0\n'
refuse zero_coordinate '1 1 1 1.0\n0 2 2 1.0\n'
refuse fractional_coordinate '1 1 1 1.0\n1.5 2 2 1.0\n'
refuse overflowing_coordinate '1 1 18446744073709551617 1.0\n'
refuse too_few_fields '1 1 1 1.0\n2 2 2.0\n'
refuse too_many_fields '1 1 1 1.0\n2 2 2 2 2.0\n'
refuse only_a_value '1.0\n'
refuse seventeen_modes '1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1.0\n'
refuse too_many_bits '4294967296 4294967296 4294967296 4294967296 2 1.0\n'
refuse comments_only '# nothing\n\n'
refuse empty ''
refuse all_zero '1 1 1 0.0\n2 2 2 0\n'
refuse cancelling '1 1 1 1.0\n1 1 1 -1.0\n'
list_folder
