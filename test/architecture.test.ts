/** The import rules of this repository, and the proof that they hold. The layout in .github/CONTRIBUTING.md draws the same picture. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from '@jest/globals'

/** Folder → what it may import besides itself. `node:*`: the modules of Node. The longest folder that fits is the rule of a file. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'lambdas/fhir': ['fast-json-patch', 'fhirpath', 'node:vm'],
  'lambdas/search': ['lambdas/fhir', 'lambdas/ports', 'search-mappings', '@lhncbc/ucum-lhc', 'node:crypto'],
  // Parses addresses; opens no connection.
  'lambdas/ports': ['lambdas/fhir', 'node:net', 'node:async_hooks'],
  // Access decisions: scopes, rules, verified tokens.
  'lambdas/access': ['lambdas/fhir', 'lambdas/search', 'lambdas/ports', 'aws-jwt-verify', 'node:crypto'],
  // The authorization server. It runs no searches.
  'lambdas/auth': [
    'lambdas/fhir',
    'lambdas/ports',
    'lambdas/access',
    'lambdas/search/query/parameter-pairs.ts',
    'jose',
    'node:crypto',
    'node:util',
  ],
  // Facts about interactions and endpoints, as data.
  'lambdas/catalogue': [],
  'lambdas/interactions': [
    'lambdas/catalogue',
    'lambdas/fhir',
    'lambdas/search',
    'lambdas/ports',
    'lambdas/access',
    'lambdas/export',
    'lambdas/partners',
    'node:crypto',
    'node:http',
  ],
  // Packages of definitions: precedence among duplicates, and detection of damage.
  'lambdas/packages': ['lambdas/fhir', 'lambdas/ports', 'node:crypto'],
  'lambdas/indexing': ['lambdas/fhir', 'lambdas/search', 'lambdas/ports', 'node:zlib'],
  // Bulk export: the request, the job, its steps.
  'lambdas/export': [
    ...['lambdas/fhir', 'lambdas/search', 'lambdas/ports', 'lambdas/access', 'lambdas/partners'],
    ...['jsonpath-rfc9535', 'node:crypto'],
  ],
  // Requests of other organizations: matches of members, their consents and Groups.
  'lambdas/partners': ['lambdas/fhir', 'lambdas/search', 'lambdas/ports', 'lambdas/access', 'node:crypto'],
  'lambdas/http': [
    'lambdas/catalogue',
    'lambdas/fhir',
    'lambdas/search',
    'lambdas/interactions',
    'lambdas/ports',
    'lambdas/access',
    'lambdas/auth',
    '@middy/core',
    'node:buffer',
    'node:crypto',
    'node:events',
    'node:http',
    'node:stream',
    'node:util',
    'node:zlib',
  ],
  // Compression of many similar short texts.
  'lambdas/adapters/dictionary-codec': [],
  'lambdas/adapters/sqlite-store': ['lambdas/ports', 'lambdas/adapters/dictionary-codec', 'lambdas/adapters/sqlite-file', 'node:*'],
  'lambdas/adapters/sqlite-index': ['lambdas/ports', 'node:*'],
  // A small SQLite file beside the store.
  'lambdas/adapters/sqlite-file': ['lambdas/ports', 'node:*'],
  'lambdas/adapters/sqlite-grants': ['lambdas/ports', 'lambdas/adapters/sqlite-file', 'node:*'],
  'lambdas/adapters/sqlite-rows': ['lambdas/ports', 'lambdas/adapters/sqlite-file', 'node:*'],
  'lambdas/adapters/https': ['lambdas/ports', 'node:*'],
  'lambdas/adapters/sigv4': ['@aws-sdk/credential-provider-node', '@smithy/signature-v4', 'node:*'],
  'lambdas/adapters/cloudfront': ['lambdas/ports', '@aws-sdk/client-kms', 'node:*'],
  'lambdas/adapters/kms': ['lambdas/ports', '@aws-sdk/client-kms', 'node:*'],
  'lambdas/adapters/filesystem': ['lambdas/ports', 'tar-stream', 'node:*'],
  'lambdas/adapters/in-process': ['lambdas/ports', 'aws-local-stepfunctions', 'node:*'],
  'lambdas/adapters/dynamodb': [
    'lambdas/ports',
    '@aws-sdk/client-dynamodb',
    '@aws-sdk/client-dynamodb-streams',
    '@aws-sdk/lib-dynamodb',
    'node:*',
  ],
  'lambdas/adapters/s3': ['lambdas/ports', '@aws-sdk/client-s3', 'node:*'],
  'lambdas/adapters/opensearch': ['lambdas/ports', '@opensearch-project/opensearch', 'node:*'],
  'lambdas/runtime': ['lambdas', 'node:*'],
  'lambdas/adapters/step-functions': ['lambdas/ports', '@aws-sdk/client-sfn', 'node:*'],
  // The generator of the pages in that folder.
  'lambdas/docs': [
    'lambdas/catalogue',
    'lambdas/fhir/resource-types.ts',
    'lambdas/interactions/capabilities/operation-claims.ts',
    'lambdas/runtime/config.ts',
    'lambdas/runtime/index-shards.ts',
    'node:*',
  ],
  // The explorer. Its browser code talks to the server over HTTP only.
  'lambdas/explorer': ['lambdas/auth/pages/html.ts', 'esbuild', 'node:path'],
  // The names of the types stand in one file, which has no code of the server. The bundle contains them.
  'lambdas/explorer/browser': ['preact', '@preact/signals', 'uplot', 'lambdas/fhir/resource-types.ts'],
  'lambdas/functions': [
    'lambdas/auth',
    'lambdas/catalogue',
    'lambdas/explorer/bundle.ts',
    'lambdas/runtime',
    'lambdas/http/pipelines',
    'lambdas/http/entry-runner.ts',
    'lambdas/interactions',
    'lambdas/indexing',
    'lambdas/ports',
  ],
  'search-mappings': ['lambdas/fhir', 'lambdas/adapters/filesystem/package-archive.ts', 'node:*'],
  // The model reads the limits of the code where they are defined.
  'lib/model': [
    'lib/settings',
    'lambdas/adapters/dynamodb/rows/audit-log.ts',
    'lambdas/adapters/dynamodb/store/index-windows.ts',
    'lambdas/adapters/dynamodb/store/scan-extent.ts',
    'lambdas/adapters/dynamodb/stream/heartbeat.ts',
    'lambdas/adapters/opensearch/index-definition.ts',
    'lambdas/export/job/checkpoint.ts',
    'lambdas/export/plan/segment-packing.ts',
    'lambdas/export/workflow.ts',
    'lambdas/export/write',
    'lambdas/fhir/resource-types.ts',
    'lambdas/functions/functions.ts',
    'lambdas/indexing/lifecycle/rebuild-estimate.ts',
    'lambdas/indexing/rebuild',
    'lambdas/indexing/stream/heartbeat.ts',
    'lambdas/ports/rows/row-limits.ts',
    'lambdas/ports/search/heartbeat.ts',
    'lambdas/runtime/step-times.ts',
    'lambdas/runtime/index-shards.ts',
  ],
  lib: [
    'lambdas/explorer/bundle.ts',
    'lambdas/adapters/dynamodb/stream/restored-table.ts',
    'lambdas/http/gateway-contract.ts',
    'lambdas/catalogue/catalogue.ts',
    'lambdas/docs/markdown.ts',
    'lambdas/functions/functions.ts',
    'lambdas/indexing/rebuild/workflow.ts',
    'lambdas/export/additional-resources.ts',
    'lambdas/export/job/lifetimes.ts',
    'lambdas/export/workflow.ts',
    'lambdas/export/schedules/schedules.ts',
    'lambdas/fhir/resource-types.ts',
    'lambdas/ports/definitions/canonicals.ts',
    'lambdas/ports/rows/pass.ts',
    'lambdas/ports/store/tenants.ts',
    'lambdas/runtime/aws/log.ts',
    'lambdas/runtime/step-times.ts',
    'lambdas/runtime/config.ts',
    'lambdas/runtime/index-shards.ts',
    'lambdas/runtime/public-read.ts',
    'lambdas/runtime/shared-tenant.ts',
    'aws-cdk-lib',
    'constructs',
    'cdk-nag',
    'esbuild',
    '@aws-cdk/cloudformation-diff',
    // The check before a deployment queries the AWS account.
    ...['api-gateway', 'cloudformation', 'cloudfront', 'dynamodb', 'iam', 'kms', 'lambda', 'opensearch', 's3', 'service-quotas'].map(
      (name) => `@aws-sdk/client-${name}`,
    ),
    ...['@aws-sdk/client-ssm', '@aws-sdk/client-sts'],
    'node:*',
  ],
  bin: ['lambdas/runtime', 'lib', 'aws-cdk-lib', '@aws-sdk/client-lambda', '@aws-sdk/client-s3', 'commander', 'cli-progress', 'node:*'],
  // Clients of any FHIR server: they open no store.
  'bin/client': ['lambdas/adapters/sigv4', 'lambdas/fhir', 'lambdas/runtime/config.ts', 'node:*'],
  'bin/export': ['bin/client', 'lambdas/adapters/filesystem/durable-file.ts', 'node:*'],
  'bin/load': ['bin/client', 'lambdas/fhir', 'node:*'],
  test: ['lambdas', 'lib', 'bin', 'search-mappings', '*'],
}

/**
 * Folder → sub-folder → the sub-folders that it may import besides itself. Every sub-folder may import the files of the folder itself, which
 * import no sub-folder unless `.` says so. Cycles through the folder itself do not count.
 */
const ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'lambdas/interactions': {
    '.': [],
    resources: [],
    searching: ['resources'],
    writing: ['resources', 'searching'],
    validation: ['writing'],
    consistency: ['resources'],
    capabilities: [],
    rest: ['resources', 'searching', 'writing', 'validation', 'consistency'],
    operations: ['rest', 'resources', 'searching', 'writing', 'validation', 'export'],
    export: ['resources', 'searching'],
    bundle: ['rest', 'resources', 'writing', 'validation', 'consistency', 'capabilities'],
  },
  'lambdas/export': {
    '.': [],
    versions: [],
    job: [],
    plan: ['job', 'versions'],
    select: ['plan', 'job', 'versions'],
    write: ['select', 'plan', 'job', 'versions'],
    collect: ['write', 'select', 'plan', 'job', 'versions'],
    schedules: ['job', 'write'],
    match: ['job', 'write'],
    workflow: ['versions', 'job', 'plan', 'select', 'write', 'collect', 'match', 'schedules'],
  },
  'lambdas/auth': {
    '.': [],
    tokens: [],
    login: ['tokens'],
    clients: ['login', 'tokens'],
    grants: ['clients', 'tokens'],
    launch: ['grants', 'tokens'],
    pages: ['launch', 'grants', 'login', 'tokens'],
    endpoints: ['pages', 'grants', 'clients', 'tokens'],
    administration: ['launch', 'clients', 'login', 'tokens'],
  },
  'lambdas/indexing': {
    '.': ['lifecycle'],
    lifecycle: [],
    feed: [],
    stream: ['feed', 'lifecycle'],
    rebuild: ['stream', 'feed', 'lifecycle'],
  },
  'lambdas/partners': {
    ...{
      '.': [],
      match: [],
      guesses: ['match'],
      consent: [],
      groups: [],
      bulk: ['match', 'consent', 'groups'],
      context: ['consent', 'groups'],
    },
    ...{ usage: ['disclosures'], disclosures: [] },
  },
  'lambdas/search': { '.': [], types: [], query: ['types'], documents: ['types'], custom: ['types'] },
  'lambdas/ports': {
    '.': [],
    search: [],
    store: [],
    definitions: ['store'],
    blobs: [],
    rows: [],
    security: [],
    execution: [],
  },
  'lambdas/fhir/profile': { '.': [], definitions: [], check: ['definitions'] },
  'lambdas/adapters/dynamodb': { '.': [], commit: [], rows: [], store: ['commit'], stream: ['commit'] },
  'lambdas/runtime': {
    '.': [],
    expressions: [],
    'threads/search': ['expressions'],
    'threads/export': ['expressions'],
    authorization: [],
    control: ['threads/search'],
    backup: ['control'],
    aws: ['authorization', 'control', 'expressions'],
    embedded: ['authorization', 'control', 'expressions', 'threads/search', 'threads/export'],
  },
  lib: {
    '.': ['settings'],
    settings: [],
    edge: ['settings'],
    deploy: ['settings', 'model', 'stacks'],
    permissions: ['settings'],
    monitoring: ['settings'],
    stacks: ['settings', 'edge', 'permissions', 'monitoring'],
    model: ['settings', 'stacks'],
    docs: ['settings', 'model'],
  },
  bin: {
    '.': ['commands'],
    client: [],
    export: ['client'],
    load: ['client'],
    commands: ['client', 'export', 'load'],
  },
}

const LONGEST_FILE = 300
const MOST_FILES = 25
const GENERATED = 'search-mappings/all.ts'
const FORBIDDEN_NAMES = /(?:^|\/)(?:utils?|helpers?|common|shared|services?|managers?|misc|index)(?:\.ts|\/)/

/** Ways to wait for a time. A call of `Atomics.wait` with a fourth argument has a time. */
const WAITS = [
  /\bset(?:Timeout|Interval)\b/,
  /['"](?:node:)?timers(?:\/promises)?['"]/,
  /\bsleep(?:\(| [\d.])|Sync\('sleep\b/,
  /\bawait delayed\(/,
  /\bAtomics\.wait\w*\((?:.*,){3}/,
  /\bAbortSignal\.timeout\b/,
  /\b(?:while|eventually|for (?=\(.*;)).*\b(?:Date|performance)\.now\(/,
]
/**
 * Fixtures hold the delays of fakes and the waits for conditions. Measurements and the deployed stacks depend on real time. The programs for
 * engines and mutants end what takes too long. This file has an example of each way to wait.
 */
const MAY_WAIT_BY_TIME = [
  ...['test/fixtures/', 'test/bench/', 'test/cloud/'],
  ...['test/engines/engine.ts', 'test/mutants/copy.ts', 'test/architecture.test.ts'],
]
/** Behind code, a comment without quotes: `'a // b'` is none. */
const COMMENT = /^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*)|\s\/\/[^'"`\n]*$/gm
const waitsByTime = (source: string): boolean => WAITS.some((way) => way.test(source.replace(COMMENT, '')))

const folders = Object.keys(MAY_IMPORT).sort((a, b) => b.length - a.length)
const folderOf = (path: string): string | undefined => folders.find((folder) => path.startsWith(`${folder}/`))
const sources = ['bin', 'lib', 'lambdas', 'search-mappings', 'test']
  .flatMap((top) => {
    try {
      return readdirSync(top, { recursive: true, encoding: 'utf8' }).map((path) => join(top, path))
    } catch {
      return []
    }
  })
  .filter((path) => path.endsWith('.ts'))

const importsOf = (path: string): readonly string[] =>
  [
    ...readFileSync(path, 'utf8').matchAll(
      /(?:^|\n)\s*(?:import|export)\b[^'"\n]*?(?:\{[^}]*\}[^'"\n]*?)?from\s+'([^']+)'|\bimport\('([^']+)'\)|new URL\('(\.[^']+\.ts)', import\.meta/g,
    ),
  ].map(([, from, lazy, thread]) => {
    const target = (from ?? lazy ?? thread)!
    return target.startsWith('.') ? relative('.', resolve(dirname(path), target)) : target
  })

const isAllowed = (folder: string, target: string): boolean =>
  [folder, ...MAY_IMPORT[folder]!].some((allowed) =>
    allowed.endsWith('*') ? target.startsWith(allowed.slice(0, -1)) : target === allowed || target.startsWith(`${allowed}/`),
  )

describe('The source code', () => {
  it('has an import rule for every file', () => {
    expect(sources.filter((path) => folderOf(path) === undefined && path !== 'test/architecture.test.ts')).toEqual([])
  })

  it('keeps to the import rules', () => {
    const broken = sources
      .filter((path) => folderOf(path) !== undefined)
      .flatMap((path) =>
        importsOf(path)
          .filter((target) => !isAllowed(folderOf(path)!, target))
          .map((target) => `${path} → ${target}`),
      )
    expect(broken).toEqual([])
  })

  it.each(Object.entries(ROOMS))('keeps to the import rules between the sub-folders of %s', (folder, rooms) => {
    const names = Object.keys(rooms).sort((a, b) => b.length - a.length)
    const roomOf = (path: string): string | undefined => {
      if (!path.startsWith(`${folder}/`)) return undefined
      const rest = path.slice(folder.length + 1)
      return rest.includes('/') ? (names.find((name) => rest.startsWith(`${name}/`)) ?? rest) : '.'
    }
    const broken = sources.flatMap((path) => {
      const room = roomOf(path)
      if (room === undefined) return []
      const isFree = (target: string): boolean => {
        const other = roomOf(target)
        return (
          other === undefined || other === room || (other === '.' && rooms[room] !== undefined) || rooms[room]?.includes(other) === true
        )
      }
      return importsOf(path)
        .filter((target) => !isFree(target))
        .map((target) => `${path} → ${target}`)
    })
    expect(broken).toEqual([])
  })

  it.each(Object.entries(ROOMS))('has no cycle between the sub-folders of %s', (_, rooms) => {
    const reaches = (from: string, to: string, seen: ReadonlySet<string> = new Set()): boolean =>
      !seen.has(from) && (rooms[from] ?? []).some((next) => next === to || reaches(next, to, new Set([...seen, from])))
    expect(Object.keys(rooms).filter((name) => reaches(name, name))).toEqual([])
  })

  it(`has no folder with more than ${MOST_FILES} files`, () => {
    const count = Object.groupBy(
      sources.filter((path) => !path.startsWith('test/')),
      (path) => dirname(path),
    )
    expect(
      Object.entries(count).flatMap(([folder, files = []]) => (files.length > MOST_FILES ? [`${folder}: ${files.length}`] : [])),
    ).toEqual([])
  })

  it('repeats changes of small values in one loop', () => {
    const adapters = sources.filter((path) => /^lambdas\/adapters\/(?:[^/]+\/rows|sqlite-rows|sqlite-grants)\//.test(path))
    const looping = [...adapters, 'lambdas/ports/rows/change.ts'].filter((path) =>
      /for \(let \w+ = \d+;|for \(;;|while \(true/.test(readFileSync(path, 'utf8')),
    )
    expect(looping).toEqual(['lambdas/ports/rows/change.ts'])
  })

  it('imports fhirpath lazily, in the interpreter only', () => {
    const eager = sources.filter((path) => !path.startsWith('test/') && /from 'fhirpath/.test(readFileSync(path, 'utf8')))
    expect(eager).toEqual([])
    const knowing = sources.filter((path) => importsOf(path).includes('fhirpath') && !path.startsWith('test/'))
    expect(knowing).toEqual(['lambdas/fhir/path/interpreter.ts'])
  })

  it('imports the library of units in one folder only', () => {
    const knowing = sources.filter((path) => importsOf(path).includes('@lhncbc/ucum-lhc') && !path.startsWith('test/'))
    expect(knowing).toEqual(['lambdas/search/types/ucum.ts', 'lambdas/search/types/unit-factor.ts'])
  })

  it('has no import cycle, not even of types', () => {
    const graph = new Map(sources.map((path) => [path, importsOf(path).filter((target) => target.endsWith('.ts'))]))
    const done = new Set<string>()
    const cycles: string[] = []
    const visit = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) {
        cycles.push([...way.slice(way.indexOf(path)), path].join(' → '))
        return
      }
      if (done.has(path)) return
      for (const next of graph.get(path) ?? []) visit(next, [...way, path])
      done.add(path)
    }
    for (const path of graph.keys()) visit(path, [])
    expect(cycles).toEqual([])
  })

  it(`has no file longer than ${LONGEST_FILE} lines`, () => {
    expect(
      sources.filter(
        (path) => !path.startsWith('test/') && path !== GENERATED && readFileSync(path, 'utf8').split('\n').length > LONGEST_FILE,
      ),
    ).toEqual([])
  })

  it('types the handler of each function by the name of its file', () => {
    const entries = sources.filter((path) => /^lambdas\/functions\/(?:fhir|auth)\//.test(path))
    const names = entries.map((path) => [path, /httpHandler<'([\w-]+)'>/.exec(readFileSync(path, 'utf8'))?.[1]])
    expect(names).toEqual(entries.map((path) => [path, basename(path, '.ts')]))
  })

  it('has no file or folder with a catch-all name', () => expect(sources.filter((path) => FORBIDDEN_NAMES.test(path))).toEqual([]))

  it('reads the environment in one file', () => {
    const readers = sources.filter((path) => !path.startsWith('test/') && /process\.env/.test(readFileSync(path, 'utf8')))
    expect(readers).toEqual(['lambdas/runtime/config.ts'])
  })

  it('prints in one file', () => {
    const printers = sources.filter(
      (path) =>
        /^(?:bin|lambdas)\//.test(path) && /console\.\w+\(|process\.std(?:out|err)\.|print\w*Sync\(/.test(readFileSync(path, 'utf8')),
    )
    expect(printers).toEqual(['lambdas/runtime/aws/log.ts'])
  })

  it('waits by time only in test folders that may', () => {
    const waiting = sources.filter(
      (path) =>
        path.startsWith('test/') &&
        !MAY_WAIT_BY_TIME.some((allowed) => path.startsWith(allowed)) &&
        waitsByTime(readFileSync(path, 'utf8')),
    )
    expect(waiting).toEqual([])
  })

  it.each([
    'await new Promise((done) => setTimeout(done, 50))',
    'const pause = setTimeout',
    "fetch('http://a //'); await new Promise((done) => setTimeout(done, 50))",
    "import { setTimeout as pause } from 'node:timers'",
    "import { scheduler } from 'node:timers/promises'",
    'await sleep(50)',
    "spawnSync('sleep', ['1'])",
    "execSync('sleep 1')",
    "spawnSync('sh', ['-c', 'sleep 0.1'])",
    'await delayed(50)',
    'Atomics.wait(new Int32Array(shared), 0, 0, 50)',
    'await Atomics.waitAsync(cell, 0, 0, 50).value',
    "await once(AbortSignal.timeout(50), 'abort')",
    'while (performance.now() < end);',
    'for (const end = Date.now() + 50; Date.now() < end; );',
    'await eventually(() => Date.now() > end)',
  ])('is found to wait by time in %s', (code) => expect(waitsByTime(code)).toBe(true))

  it.each([
    '// setTimeout of the server',
    'server.close() // before its setTimeout',
    '/** Reads the clock\n * of setTimeout */\nread()',
    "spawn('sleep', ['60'])",
    'Atomics.wait(cell, 0, 0)',
    'for await (const page of store.scan({ asOf: Date.now() }))',
    'const slow = () => void delayed(50).then(answer)',
  ])('is found not to wait by time in %s', (code) => expect(waitsByTime(code)).toBe(false))

  it('takes time and randomness from the clock', () => {
    const takers = sources.filter(
      (path) =>
        /^lambdas\/(?:fhir|search|interactions|indexing|http)\//.test(path) &&
        /Date\.now\(|Math\.random\(|randomUUID/.test(readFileSync(path, 'utf8')),
    )
    expect(takers).toEqual([])
  })
})
