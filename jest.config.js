/** The tests run the sources as they are: Node strips the types, Jest loads ES modules. test/README.md says which command runs which files. */
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

// Tests start hundreds of threads and processes. With this cache each of them finds the sources compiled.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache')

/** Folders whose tests call functions directly. Few of them start a process or a server. */
const UNIT = ['access', 'contracts', 'fhir', 'fixtures', 'indexing', 'mutants', 'packages', 'partners', 'ports', 'search']

/** Files that are too slow for `npm test`: servers among faults, commands, a browser, bundles, clients of other projects. */
const LONG = [
  'adapters/dynamodb/faults',
  'adapters/dynamodb/protocol',
  'adapters/dynamodb/rows',
  'adapters/in-process/expression-runner',
  'adapters/sqlite/damage',
  'adapters/sqlite/durability',
  'adapters/sqlite/grants',
  'adapters/sqlite/index-history',
  'adapters/sqlite/recent-keys',
  'adapters/sqlite/staging',
  'adapters/sqlite/store-options',
  'api/fhirpath-suite',
  'api/official-examples',
  'api/others-pass',
  'api/search-odd',
  'api/search-parameters',
  'api/settings-tried',
  'api/too-costly',
  'auth/embedded',
  'auth/fhirclient',
  'auth/in-browser',
  'auth/isolation/leaks-exports',
  'auth/isolation/leaks-operations',
  'auth/isolation/leaks-reads',
  'auth/isolation/leaks-searches',
  'auth/isolation/leaks-validate',
  'auth/isolation/leaks-writes',
  'auth/isolation/two-worlds',
  'auth/isolation/two-worlds-exports',
  'bin/administration',
  'bin/backup',
  'bin/crash',
  'bin/damage',
  'bin/deploy',
  'bin/duckdb',
  'bin/exports',
  'bin/exports-clients',
  'bin/faults',
  'bin/full-backup',
  'bin/load/references',
  'bin/load/reindex',
  'bin/output',
  'bin/package',
  'bin/readme',
  'bin/server-location',
  'bin/stage',
  'bin/token',
  'bin/versions-backup',
  'clients/java',
  'clients/javascript',
  'clients/python',
  'explorer/chart',
  'explorer/exports',
  'explorer/findings',
  'explorer/hostile',
  'explorer/in-browser',
  'explorer/layout',
  'explorer/odd-answers',
  'explorer/operator',
  'explorer/query-form',
  'explorer/screenshots',
  'explorer/see-as',
  'explorer/sessions',
  'export/chained',
  'export/collect/kills',
  'export/collect/range-collector',
  'export/kills',
  'export/kits',
  'export/outages',
  'infra/bundles',
  'infra/conditions',
  'infra/replacements',
  'infra/restored',
  'interactions/fuzz',
  'judge/answers',
  'judge/claim-views',
  'judge/partner-answers',
  'mutants/copy',
  'mutants/run',
  'packages/guide-examples',
  'partners/outcome-privacy',
  'runtime/embedded/exports',
  'runtime/embedded/restore',
  'runtime/power-cut',
  'runtime/spoilt-folder',
  'runtime/threads/search/damage',
  'runtime/upgrade',
].map((name) => `${name}.test.ts`)

/** Files that check the data of other tests. They do not depend on the sources of the server, so neither `npm test` nor `npm run test:long` runs them. */
const NIGHT = ['judge/again.test.ts']

/** Files whose loops are longer in `npm run test:long`. */
const LOOPS = /\b(?:caseCountOf|caseStepOf|firstSeed)\(|search-index\.contract/

const files = readdirSync('test', { recursive: true }).filter((path) => path.endsWith('.test.ts'))
const missing = [...LONG, ...NIGHT].filter((path) => !files.includes(path))
// A renamed file would run with the short ones.
if (missing.length > 0) throw new Error(`jest.config.js lists files that do not exist: ${missing.join(', ')}`)
const loops = (path) => LOOPS.test(readFileSync(join('test', path), 'utf8'))
const isUnder = (path, folders) => folders.some((folder) => path.startsWith(`${folder}/`)) || !path.includes('/')

const mode = process.env.FHIR_TEST_FULL
const long = mode === 'tenth' ? files.filter((path) => LONG.includes(path) || loops(path)) : LONG
const short = files.filter((path) => !long.includes(path) && !NIGHT.includes(path))
const infra = short.filter((path) => isUnder(path, ['infra']) && path.includes('/'))
const unit = short.filter((path) => isUnder(path, UNIT))

const PROJECTS = {
  unit,
  server: short.filter((path) => !infra.includes(path) && !unit.includes(path)),
  infra,
  long,
  night: NIGHT,
}

const argv = process.argv.slice(2)
const isWhole = argv.every((argument) => argument.startsWith('-'))
const isSelected = argv.some((argument) => argument.startsWith('--selectProjects'))
const left = mode === 'tenth' ? ['unit', 'server', 'infra', 'night'] : mode === '1' ? [] : ['long', 'night']
const chosen = Object.entries(PROJECTS).filter(([name]) => !isWhole || isSelected || !left.includes(name))
if (mode === undefined && !chosen.some(([name]) => name === 'long'))
  process.stderr.write(`npm run test:long runs ${LONG.length} further files\n`)

export default {
  projects: chosen.map(([displayName, paths]) => ({
    displayName,
    // Node resolves packages by itself: Jest need not list their files.
    roots: ['bin', 'lambdas', 'lib', 'search-mappings', 'test'].map((folder) => `<rootDir>/${folder}`),
    testEnvironment: 'node',
    extensionsToTreatAsEsm: ['.ts'],
    transform: { '\\.ts$': '<rootDir>/jest.strip-types.js' },
    testMatch: paths.map((path) => `<rootDir>/test/${path}`),
  })),
  globalSetup: '<rootDir>/test/infra/start-synthesizer.ts',
  globalTeardown: '<rootDir>/test/infra/end-synthesizer.ts',
  // A limit for tests that hang, not for slow machines.
  testTimeout: mode === undefined ? 600_000 : 3_600_000,
  // A missing snapshot fails; `npm test -- -u` writes it.
  ci: true,
  reporters: process.env.CI === undefined ? ['default'] : ['default', '<rootDir>/.ci/times.ts'],
  // Jest leaves one processor to itself by default, but needs little.
  maxWorkers: Math.max(2, availableParallelism() - 1),
}
