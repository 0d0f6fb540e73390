// The classes are those of the Node package, so its tests hold here, as far as they need no files and no threads.
import '../../../bindings/node/test/arguments.test.js'
import '../../../bindings/node/test/cache.test.js'
import '../../../bindings/node/test/cache-vectors.test.js'
import '../../../bindings/node/test/codecs.test.js'
import '../../../bindings/node/test/encodings.test.js'
import '../../../bindings/node/test/iteration.test.js'
import '../../../bindings/node/test/map.test.js'
import '../../../bindings/node/test/vectors.test.js'
