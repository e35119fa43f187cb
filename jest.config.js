/** Tests run the sources as they are: Node strips the types, jest loads ES modules. */
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

// The threads and processes tests start, hundreds, need not strip and compile the same sources again.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache')

// Servers among faults, a browser, bundles and commands one after the other take long: a whole run leaves them to `npm run test:full`.
// Whoever names them gets them.
const LONG = [
  ...[
    'bin/administration',
    'bin/backup',
    'bin/damage',
    'bin/exports-clients',
    'bin/faults',
    'infra/bundles',
    'infra/conditions',
    'infra/replacements',
    'judge/again',
    'judge/answers',
    'clients/java',
    'clients/javascript',
    'clients/python',
    'bin/output',
    'runtime/power-cut',
    'runtime/restoring',
    'runtime/searcher/damage',
  ],
  ...[
    'auth/fhirclient',
    'auth/in-browser',
    'runtime/spoilt-folder',
    'adapters/dynamodb-faults',
    'adapters/dynamodb-protocol',
    'adapters/expression-runner',
    'adapters/sqlite-damage',
  ],
]
const isFull = process.env.FHIR_TEST_FULL === '1'
const isWhole = process.argv.slice(2).every((argument) => argument.startsWith('-'))
const leftOut = isWhole && !isFull ? LONG.map((path) => `<rootDir>/test/${path}.test.ts`) : []
if (leftOut.length > 0) process.stderr.write(`Left to npm run test:full: ${LONG.join(', ')}\n`)

export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/jest.strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...leftOut],
  // A test takes as long as the machine is slow; one that hangs ends all the same.
  testTimeout: isFull ? 3_600_000 : 600_000,
  // A snapshot that is missing fails; `npm test -- -u` writes it.
  ci: true,
  // Jest would leave one processor to itself, which has little to do.
  maxWorkers: Math.max(2, availableParallelism() - 1),
}
