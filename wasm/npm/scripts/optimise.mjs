// Makes a module smaller than the compiler leaves it, or faster, and strips it.

import binaryen from 'binaryen'

/**
 * Where a panic begins. On this target nothing can see its message, which would be put together for a hook that prints
 * nowhere: what a host sees is the trap at the end. So it may as well come at once, and the rest go.
 */
const PANIC = /4core9panicking(9panic_fmt|18panic_bounds_check|5panic|19assert_failed_inner)/

/** What panics say, and the files that they name: of a module's data, what nobody can read. */
const SAID = new RegExp(
  [
    /(?:std|engine|cache|format|wasm|\/rustc\/[0-9a-f]{40}|\/rust\/deps)\/[\w/.-]+?\.rs/,
    /assertion failed: psize [<>]= size \+ m(?:in|ax)_overhead/,
    /assertion failed: (?:idx < CAPACITY|self\.height > 0|count > 0|src\.len\(\) == dst\.len\(\))/,
    /assertion failed: edge\.height == self\.(?:node\.)?height - 1/,
    /assertion failed: (?:old_(?:left|right)_len \+ count|new_left_len) <= CAPACITY/,
    /assertion failed: old_(?:left|right)_len >= count/,
    /assertion failed: match track_edge_idx \{\n.*\n.* => idx <= right_len,\n\}/,
    /internal error: entered unreachable code(?:: invalid Once state|: empty internal node)?/,
    /a formatting trait implementation returned an error when the underlying stream did not/,
    /copy_from_slice: source slice length \(|\) does not match destination slice length \(/,
    /cannot access a Thread Local Storage value during or after destruction: /,
    /one-time initialization may not be performed recursively|cannot recursively acquire mutex/,
    /called `Option::unwrap\(\)` on a `None` value|argument of integer logarithm must be positive/,
    /slice index starts at |index out of bounds: the len is | but (?:ends at|the index is) /,
    /range (?:start|end) index | out of range for slice of length /,
    /min > max\. min = |assertion `left |RefCell already (?:mutably )?borrowed|attempt to divide by zero/,
    / right` failed: |\n {2}left: |\n right: |, max = |mid > len|can't sleep|AccessError/,
    /it was open|nobody else knows the leaf|Out of bounds access|capacity overflow|: there is a split or a parent|it has such a slot/,
    /(?:`at` split|insertion|removal) index \(is |\) should be <=? len \(is /,
    /(?:it was allocated with it|a (?:segment|directory) has an address|there is room in a region)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
)

function silence(bytes) {
  const text = Buffer.from(bytes).toString('latin1')
  return Buffer.from(
    text.replace(SAID, (said) => '\0'.repeat(said.length)),
    'latin1',
  )
}

export function optimise(bytes, forSpeed) {
  const module = binaryen.readBinary(silence(bytes))
  try {
    endPanicsAtOnce(module)
    if (forSpeed) {
      binaryen.setOptimizeLevel(3)
      binaryen.setShrinkLevel(0)
      module.optimize()
    } else {
      binaryen.setOptimizeLevel(2)
      binaryen.setShrinkLevel(2)
      // A function that one other calls compresses better by itself, if it is not tiny.
      binaryen.setOneCallerInlineMaxSize(20)
      module.optimize()
      // Expressions without nesting show more of what is the same.
      module.runPasses(['flatten', 'local-cse', 'rereloop'])
      module.optimize()
      module.optimize()
    }
    module.runPasses([
      'reorder-functions-by-name', // neighbours resemble each other, so it compresses better
      'reorder-locals',
      'strip-debug',
      'strip-producers',
      'strip-target-features',
    ])
    return module.emitBinary()
  } finally {
    module.dispose()
  }
}

function endPanicsAtOnce(module) {
  let ended = 0
  for (let at = 0; at < module.getNumFunctions(); at++) {
    const found = binaryen.Function(module.getFunctionByIndex(at))
    if (!PANIC.test(found.name)) continue
    found.body = module.unreachable()
    ended++
  }
  if (ended === 0) throw new Error('no panic was found: has the toolchain changed its names?')
}
