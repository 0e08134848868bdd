;; The inner loops of vector search: dot products of int8 rows with int16 queries.
;; Assembled into assets/kernel.wasm; `npm run build:model -- --write` does it again after a change.
;;
;; A row is `stride` numbers of one byte, a multiple of 16, zero-padded; a query as many of two
;; bytes, at most +-2047 each, so that no sum overflows below 8192 dimensions.
(module
  (memory (export "memory") 1 65536)

  (func $dot (param $row i32) (param $stride i32) (param $query i32) (result i32)
    (local $end i32) (local $sum v128)
    (local.set $end (i32.add (local.get $row) (local.get $stride)))
    (loop $step
      (local.set $sum
        (i32x4.add
          (local.get $sum)
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load8x8_s (local.get $row)) (v128.load (local.get $query)))
            (i32x4.dot_i16x8_s
              (v128.load8x8_s offset=8 (local.get $row))
              (v128.load offset=16 (local.get $query))))))
      (local.set $query (i32.add (local.get $query) (i32.const 32)))
      (local.set $row (i32.add (local.get $row) (i32.const 16)))
      (br_if $step (i32.lt_u (local.get $row) (local.get $end))))
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
      (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum)))))

  ;; Writes to `out`, as i32, the product of one query with each of `count` rows in a row. `$dot` is
  ;; written out here, since this loop is most of a search and calls are not inlined.
  (func (export "dot_rows")
    (param $rows i32) (param $count i32) (param $stride i32) (param $first i32) (param $out i32)
    (local $end i32) (local $query i32) (local $sum v128)
    (block $done
      (loop $row
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $sum (v128.const i32x4 0 0 0 0))
        (local.set $query (local.get $first))
        (local.set $end (i32.add (local.get $rows) (local.get $stride)))
        (loop $step
          (local.set $sum
            (i32x4.add
              (local.get $sum)
              (i32x4.add
                (i32x4.dot_i16x8_s (v128.load8x8_s (local.get $rows)) (v128.load (local.get $query)))
                (i32x4.dot_i16x8_s
                  (v128.load8x8_s offset=8 (local.get $rows))
                  (v128.load offset=16 (local.get $query))))))
          (local.set $query (i32.add (local.get $query) (i32.const 32)))
          (local.set $rows (i32.add (local.get $rows) (i32.const 16)))
          (br_if $step (i32.lt_u (local.get $rows) (local.get $end))))
        (i32.store (local.get $out)
          (i32.add
            (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
            (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum)))))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $row))))

  ;; The same for `count` rows named by their numbers in a table, each with `queries` queries that
  ;; follow each other: all products of the first row, then all of the second.
  (func (export "dot_named")
    (param $table i32) (param $names i32) (param $count i32) (param $stride i32)
    (param $first i32) (param $queries i32) (param $out i32)
    (local $row i32) (local $query i32) (local $left i32)
    (block $done
      (loop $name
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $row
          (i32.add (local.get $table) (i32.mul (i32.load (local.get $names)) (local.get $stride))))
        (local.set $query (local.get $first))
        (local.set $left (local.get $queries))
        (loop $each
          (i32.store (local.get $out)
            (call $dot (local.get $row) (local.get $stride) (local.get $query)))
          (local.set $query (i32.add (local.get $query) (i32.shl (local.get $stride) (i32.const 1))))
          (local.set $out (i32.add (local.get $out) (i32.const 4)))
          (br_if $each (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
        (local.set $names (i32.add (local.get $names) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $name)))))
