/** Tests run the sources as they are: Node strips the types, jest loads ES modules. */
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

// The threads and processes tests start, hundreds, need not strip and compile the same sources again.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache')

export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/jest.strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testTimeout: 60_000,
  // A snapshot that is missing fails; `npm test -- -u` writes it.
  ci: true,
  // Jest would leave one processor to itself, which has little to do.
  maxWorkers: Math.max(2, availableParallelism() - 1),
}
