// Makes a module smaller than the compiler leaves it, or faster, and strips it.

import binaryen from 'binaryen'

/**
 * Where a panic begins. On this target nothing can see its message, which would be put together for a hook that prints
 * nowhere: what a host sees is the trap at the end. So it may as well come at once, and the rest go.
 */
const PANIC = /4core9panicking(9panic_fmt|18panic_bounds_check|5panic|19assert_failed_inner)/

export function optimise(bytes, forSpeed) {
  const module = binaryen.readBinary(bytes)
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
      'reorder-functions',
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
