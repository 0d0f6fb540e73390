;; Calls the module's verbs on one key from within WebAssembly, for every item of a packed block that lies in its memory.
(module
  (import "twindex" "memory" (memory 1))
  (import "twindex" "twindex_insert" (func $insert (param i32 i32 i32 i32 i32) (result i32)))
  (import "twindex" "twindex_select" (func $select (param i32 i32 i32) (result i32)))
  (import "twindex" "twindex_scan_asc_next" (func $next (param i32) (result i32)))

  ;; How many of the pairs from $at to $end were inserted.
  (func (export "insert") (param $table i32) (param $at i32) (param $end i32) (result i32)
    (local $key i32) (local $value i32) (local $done i32)
    (loop $each
      (if (i32.lt_u (local.get $at) (local.get $end)) (then
        (local.set $key (i32.load (local.get $at)))
        (local.set $value (i32.load offset=4 (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (local.set $done (i32.add (local.get $done)
          (call $insert (local.get $table) (local.get $at) (local.get $key)
            (i32.add (local.get $at) (local.get $key)) (local.get $value))))
        (local.set $at (i32.add (i32.add (local.get $at) (local.get $key)) (local.get $value)))
        (br $each))))
    (local.get $done))

  ;; How many of the keys from $at to $end have a value.
  (func (export "select") (param $table i32) (param $at i32) (param $end i32) (result i32)
    (local $key i32) (local $done i32)
    (loop $each
      (if (i32.lt_u (local.get $at) (local.get $end)) (then
        (local.set $key (i32.load (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (local.set $done (i32.add (local.get $done)
          (call $select (local.get $table) (local.get $at) (local.get $key))))
        (local.set $at (i32.add (local.get $at) (local.get $key)))
        (br $each))))
    (local.get $done))

  ;; How many pairs a cursor has before it.
  (func (export "scan") (param $cursor i32) (result i32)
    (local $done i32)
    (loop $each
      (if (i32.eq (call $next (local.get $cursor)) (i32.const 1)) (then
        (local.set $done (i32.add (local.get $done) (i32.const 1)))
        (br $each))))
    (local.get $done)))
