/** `fhir package` beside a running server, killed, run twice at once, and on a full disk. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Tree } from '../api/server.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { caseCountOf } from '../fixtures/long-runs.ts'
import { servePackages } from '../fixtures/package-registry.ts'
import {
  basicWithColor,
  COLORS_VALUE_SET,
  GUIDE_NAME,
  guideCanonicalOf,
  guideFilesOf,
  profile,
  writeArchiveFile,
} from '../fixtures/packages.ts'
import { type RunningServer, runFhir, runFhirWithEnvironment, startOpenServer } from './process.ts'

const ADDED = `${GUIDE_NAME} 1.0.0 is added: 2 profiles and extensions, 0 value sets, 0 code systems\n`

describe('A package that is added to a running server', () => {
  let server: RunningServer
  let data: string
  const run = (...args: readonly string[]) => runFhir('package', ...args, '--data', data)
  const add = async (version: string, more: Readonly<Record<string, unknown>> = {}) =>
    run('add', await writeArchiveFile(guideFilesOf(version, more)))

  /** Returns the status of `$validate` against a profile, and its issues. */
  async function validated(name: string, resource: Tree): Promise<readonly unknown[]> {
    const response = await fetch(`${server.base}/Basic/$validate?profile=${encodeURIComponent(guideCanonicalOf(name))}`, {
      method: 'POST',
      headers: { 'content-type': 'application/fhir+json' },
      body: JSON.stringify(resource),
    })
    const { issue } = (await response.json()) as Tree
    return [
      response.status,
      ...issue.filter(({ code }: Tree) => code !== 'invariant').map(({ severity, code }: Tree) => `${severity} ${code}`),
    ]
  }

  const NOT_LOADED = [422, 'error not-found']
  const NO_ISSUES = [200]

  beforeAll(async () => {
    data = newFolder()
    server = await startOpenServer('--data', data)
    // The first package creates the folders of packages and of audit records.
    await add('1.0.0')
    await run('remove', `${GUIDE_NAME}@1.0.0`)
  })

  afterEach(() => {
    for (const name of readdirSync(join(data, 'packages')))
      if (name !== 'lock.db') rmSync(join(data, 'packages', name), { recursive: true })
  })

  it('takes effect at once, until it is removed', async () => {
    expect(await validated('with-subject', basicWithColor('red'))).toEqual(NOT_LOADED)
    expect(await add('1.0.0')).toEqual({ code: 0, out: ADDED, err: '' })
    expect(await validated('with-subject', basicWithColor('red'))).toEqual([200, 'error required'])
    expect((await run('remove', `${GUIDE_NAME}@1.0.0`)).out).toBe(`${GUIDE_NAME} 1.0.0 is removed\n`)
    expect(await validated('with-subject', basicWithColor('red'))).toEqual(NOT_LOADED)
    expect((await run('remove', `${GUIDE_NAME}@1.0.0`)).err).toContain('is not added')
  })

  it('is listed with the unmet requirements of its CapabilityStatement', async () => {
    const url = `${guideCanonicalOf('server').replace('StructureDefinition', 'CapabilityStatement')}`
    const statement = (id: string, name: string) => ({
      ...{ resourceType: 'CapabilityStatement', url: `${url}-${id}`, version: '1.0.0', status: 'active', kind: 'requirements' },
      rest: [{ mode: 'server', resource: [{ type: 'Basic', searchParam: [{ name }] }] }],
    })
    const [met, unmet] = [statement('met', 'code'), statement('unmet', 'color')]
    await add('1.0.0', { 'package/CapabilityStatement-met.json': met, 'package/CapabilityStatement-unmet.json': unmet })
    expect((await run('list', '--capabilities')).out).toBe(
      `${url}-met|1.0.0: complete\n${url}-unmet|1.0.0: 1 requirement not met\n  Basic: search parameter color\n`,
    )
  })

  it('can be removed by name alone only if it has one version', async () => {
    const removed = async (text: string) => {
      const { code, out, err } = await run('remove', text)
      return [code, `${out}${err}`]
    }
    await add('1.0.0')
    await add('1.0.1')
    const several = `Several versions of ${GUIDE_NAME} are added: name one of them, ${GUIDE_NAME}@1.0.0 or ${GUIDE_NAME}@1.0.1`
    expect(await removed(GUIDE_NAME)).toEqual([1, expect.stringContaining(several)])
    for (const text of [`${GUIDE_NAME}@1.0`, `${GUIDE_NAME}@1`, GUIDE_NAME.slice(0, -1)])
      expect(await removed(text)).toEqual([1, expect.stringContaining('is not added')])
    for (const text of ['hl7.fhir.us.core', 'hl7.fhir.us.core@6.1.0'])
      expect(await removed(text)).toEqual([1, expect.stringContaining('is part of the server')])
    expect(await removed(`${GUIDE_NAME}@1.0.1`)).toEqual([0, `${GUIDE_NAME} 1.0.1 is removed\n`])
    expect(await removed(GUIDE_NAME)).toEqual([0, `${GUIDE_NAME} 1.0.0 is removed\n`])
  })

  it('reports its retired resources, which the server neither uses nor names', async () => {
    const retired = { ...profile('retired', '1.0.0', [{ id: 'Basic.subject', path: 'Basic.subject', min: 1 }]), status: 'retired' }
    const { err } = await add('1.0.0', {
      'package/retired.json': retired,
      'package/colors.json': { ...COLORS_VALUE_SET, status: 'retired' },
    })
    for (const { url } of [retired, COLORS_VALUE_SET]) expect(err).toContain(`${url} is not used: It is retired`)
    for (const name of ['retired', 'retired|1.0.0']) expect(await validated(name, basicWithColor('red'))).toEqual([422, 'error processing'])
    expect(await validated('with-color', basicWithColor('blue'))).toEqual([200, 'warning not-supported'])
    const statement = (await (await fetch(`${server.base}/metadata`)).json()) as Tree
    const { supportedProfile } = statement.rest[0].resource.find(({ type }: Tree) => type === 'Basic')
    expect(supportedProfile).toEqual([guideCanonicalOf('with-color'), guideCanonicalOf('with-subject')])
  })

  it('adds its profiles to the CapabilityStatement while it is there', async () => {
    const supported = async () => {
      const statement = (await (await fetch(`${server.base}/metadata`)).json()) as Tree
      return statement.rest[0].resource.find(({ type }: Tree) => type === 'Basic').supportedProfile
    }
    expect(await supported()).toBeUndefined()
    await add('1.0.0')
    expect(await supported()).toEqual([guideCanonicalOf('with-color'), guideCanonicalOf('with-subject')])
    await run('remove', `${GUIDE_NAME}@1.0.0`)
    expect(await supported()).toBeUndefined()
  })

  it('decides codes that were unknown before, with the value sets it brings', async () => {
    await add('1.0.0')
    expect(await validated('with-color', basicWithColor('blue'))).toEqual([200, 'information not-supported'])
    const values = { 'package/package.json': { name: 'example.colors', version: '1.0.0' }, 'package/colors.json': COLORS_VALUE_SET }
    expect((await run('add', await writeArchiveFile(values))).code).toBe(0)
    expect(await validated('with-color', basicWithColor('blue'))).toEqual([200, 'error code-invalid'])
    expect(await validated('with-color', basicWithColor('red'))).toEqual(NO_ISSUES)
  })

  it('coexists with other versions: the newest is the default, each is found by version', async () => {
    const relaxed = {
      'package/StructureDefinition-subject.json': profile('with-subject', '1.10.0', [
        { id: 'Basic.subject', path: 'Basic.subject', short: 'x' },
      ]),
    }
    await add('1.9.0')
    expect((await add('1.10.0', relaxed)).code).toBe(0)
    expect(await validated('with-subject', basicWithColor('red'))).toEqual(NO_ISSUES)
    expect(await validated('with-subject|1.9.0', basicWithColor('red'))).toEqual([200, 'error required'])
    expect(await validated('with-subject|1.9', basicWithColor('red'))).toEqual(NOT_LOADED)
    expect((await run('list')).out).toMatch(
      /core +4\.0\.1 .* built in\n.*us\.core +6\.1\.0 .* built in\nus-value-sets +1\.0\.0 .* built in\nexample\.guide +1\.10\.0 +2 +0 +0\nexample\.guide +1\.9\.0 +2 +0 +0\n$/,
    )
  })

  it('does not replace definitions of R4', async () => {
    const url = 'http://hl7.org/fhir/ValueSet/administrative-gender'
    const gender = { ...COLORS_VALUE_SET, id: 'gender', url, version: '9.0.0', compose: { include: [{ system: 'http://example.org' }] } }
    const basic = {
      ...profile('Basic', '4.0.1', [{ id: 'Basic.subject', path: 'Basic.subject', min: 1 }]),
      url: 'http://hl7.org/fhir/StructureDefinition/Basic',
    }
    const { code, err } = await add('1.0.0', { 'package/gender.json': gender, 'package/Basic.json': basic })
    expect(code).toBe(0)
    expect(err).toContain('http://hl7.org/fhir/StructureDefinition/Basic is not used: It defines a type')
    expect(err).toContain(`R4 also defines ${url}: `)
  })

  it('is added with a list of its unusable resources and missing dependencies', async () => {
    const manifest = { name: GUIDE_NAME, version: '1.0.0', dependencies: { 'hl7.fhir.us.core': '6.1.x', 'example.other': '2.0.0' } }
    const odd = {
      'package/package.json': manifest,
      'package/up.json': { ...profile('up', '1.0.0', [{ id: 'a', path: 'a' }]), type: '../../up' },
      'package/r5.json': { ...profile('r5', '1.0.0', [{ id: 'Basic', path: 'Basic' }]), fhirVersion: '5.0.0' },
      'package/none.json': { ...profile('none', '1.0.0', []) },
      'package/far.json': profile('far', '1.0.0', [{ id: 'Basic.subject', path: 'Basic.subject', min: 1 }], guideCanonicalOf('unheard-of')),
      'package/empty.json': { resourceType: 'ValueSet', url: 'http://example.org/empty' },
    }
    const { code, err } = await add('1.0.0', odd)
    expect([code, err.trim().split('\n').toSorted()]).toEqual([
      0,
      [
        'fhir: http://example.org/empty is not used: It does not say which codes it has',
        `fhir: ${guideCanonicalOf('far')} is not used: It derives from ${guideCanonicalOf('unheard-of')}, which is not loaded`,
        `fhir: ${guideCanonicalOf('none')} is not used: It has neither a snapshot nor a differential`,
        `fhir: ${guideCanonicalOf('r5')} is not used: It is of FHIR 5.0.0`,
        `fhir: ${guideCanonicalOf('up')} is not used: R4 has no type ../../up`,
        'fhir: it depends on example.other@2.0.0, which is not added: add it too',
      ],
    ])
    expect(await validated('far', basicWithColor('red'))).toEqual([422, 'error processing'])
    expect(await validated('with-subject', basicWithColor('red'))).toEqual([200, 'error required'])
  })

  it.each([
    ['of another FHIR version', { name: GUIDE_NAME, version: '1.0.0', fhirVersions: ['5.0.0'] }, 'is of FHIR 5.0.0, and this server of R4'],
    ['with a path as its name', { name: '../../up', version: '1.0.0' }, 'no name and version'],
    ['with a path as its version', { name: GUIDE_NAME, version: '1/../..' }, 'no name and version'],
    ['that is already added', { name: 'hl7.fhir.us.core', version: '6.1.0' }, 'hl7.fhir.us.core 6.1.0 is already added'],
  ])('is refused: %s', async (_, manifest, text) => {
    const { code, err } = await add('1.0.0', { 'package/package.json': manifest })
    expect([code, err]).toEqual([1, expect.stringContaining(text)])
    expect(readdirSync(join(data, 'packages'))).toEqual(['lock.db'])
  })

  it('can come from a registry', async () => {
    const fetching = await registryOf({ [GUIDE_NAME]: { '1.0.0': guideFilesOf('1.0.0') } })
    expect(await fetching(`${GUIDE_NAME}@1.0.0`)).toEqual({ code: 0, out: ADDED, err: '' })
    expect((await fetching(`${GUIDE_NAME}@1.0.0`)).err).toContain('is already added')
    expect((await fetching(`${GUIDE_NAME}@3.0.0`)).err).toContain('it has 1.0.0')
    expect((await run('add', 'no-such-file.tgz')).err).toContain('There is no file')
    expect((await run('remove', 'hl7.fhir.us.core@6.1.0')).err).toContain('is part of the server')
  })

  /** Returns a function that adds packages from a registry with `packages`: name → version → files. */
  async function registryOf(packages: Parameters<typeof servePackages>[0]) {
    const env = { ...process.env, FHIR_PACKAGE_REGISTRY: await servePackages(packages) }
    return (...args: readonly string[]) => runFhirWithEnvironment(env, 'package', 'add', ...args, '--data', data)
  }

  const depending = (name: string, version: string, dependencies: Tree) => ({
    ...guideFilesOf(version),
    'package/package.json': { name, version, dependencies },
  })

  it('brings its dependencies on request, and reports those that cannot be added', async () => {
    const r5 = { 'package/package.json': { name: 'example.r5', version: '5.0.0', fhirVersions: ['5.0.0'] } }
    const fetching = await registryOf({
      'example.a': {
        '1.0.0': depending('example.a', '1.0.0', { 'example.b': '2.0.x', 'hl7.fhir.r4.core': '4.0.1', 'hl7.fhir.us.core': '6.1.x' }),
      },
      'example.b': {
        '2.0.9': depending('example.b', '2.0.9', {}),
        '2.0.10': depending('example.b', '2.0.10', {
          'example.a': '1.0.0',
          'example.c': 'latest',
          'example.d': 'current',
          'example.r5': '5.0.0',
        }),
      },
      'example.c': { '1.0.0': depending('example.c', '1.0.0', {}), '1.1.0': depending('example.c', '1.1.0', {}) },
      'example.d': { '1.0.0': depending('example.d', '1.0.0', {}) },
      'example.r5': { '5.0.0': r5 },
    })
    const { code, out, err } = await fetching('example.a@1.0.0', '--with-dependencies')
    expect([code, out.match(/^\S+ \S+/gm)]).toEqual([1, ['example.c 1.1.0', 'example.b 2.0.10', 'example.a 1.0.0']])
    expect(err.trim().split('\n')).toEqual([
      expect.stringMatching(/^fhir: it depends on example\.d@current, which is not added, and cannot be added: .* is not published/),
      'fhir: it depends on example.r5@5.0.0, which is not added, and cannot be added: example.r5 5.0.0 is of FHIR 5.0.0, and this server of R4 (4.0.1)',
    ])
    expect((await run('remove', 'example.a@1.0.0')).code).toBe(0)
    expect(await fetching('example.a@latest', '--with-dependencies')).toMatchObject({ code: 0, err: '' })
  })

  it('has search parameters that take effect while it is there', async () => {
    const parameter = { resourceType: 'SearchParameter', id: 'p', url: 'http://example.org/p', status: 'active', code: 'own-subject' }
    const meaning = { name: 'p', description: 'p', base: ['Basic'], type: 'reference', expression: 'Basic.subject' }
    const draft = { ...parameter, ...meaning, id: 'draft', url: 'http://example.org/draft', status: 'draft' }
    const { code, out, err } = await add('1.0.0', {
      'package/SearchParameter-p.json': { ...parameter, ...meaning },
      'package/SearchParameter-draft.json': draft,
    })
    expect([code, out, err]).toEqual([
      0,
      `${ADDED.replace('\n', ', 1 new search parameter\n')}Indexed again while searches continue: Basic (0 documents)\n`,
      'fhir: searches cannot use 1 search parameter that the package does not mark as active\n',
    ])
    const isSearched = async () => {
      const statement = (await (await fetch(`${server.base}/metadata`)).json()) as Tree
      return statement.rest[0].resource
        .find(({ type }: Tree) => type === 'Basic')
        .searchParam.some(({ name }: Tree) => name === 'own-subject')
    }
    await eventually(isSearched, { until: (is) => is, every: 10, within: 60_000 })
    expect((await run('list')).out).toMatch(/example\.guide +1\.0\.0 +2 +0 +0 +1 searched, 1 not active\n/)
    await run('remove', `${GUIDE_NAME}@1.0.0`)
    await eventually(isSearched, { until: (is) => !is, every: 10, within: 60_000 })
  })

  it('has drafts that take effect if the operator activates them', async () => {
    const meaning = { resourceType: 'SearchParameter', base: ['Basic'], type: 'reference', expression: 'Basic.subject' }
    const parameters = ['draft', 'retired'].map((status) => [
      `package/SearchParameter-${status}.json`,
      // A mark of the archive activates nothing.
      { ...meaning, id: status, url: `http://example.org/${status}`, status, code: `own-${status}`, isActivatedDraft: true },
    ])
    const { code, out, err } = await run('add', await writeArchiveFile(guideFilesOf('1.0.0', Object.fromEntries(parameters))))
    expect([code, out, err]).toEqual([
      ...[0, ADDED, 'fhir: searches cannot use 2 search parameters that the package does not mark as active\n'],
    ])
    await run('remove', GUIDE_NAME)
    expect(await run('add', '--drafts', await writeArchiveFile(guideFilesOf('1.0.0', Object.fromEntries(parameters))))).toEqual({
      code: 0,
      out: `${ADDED.replace('\n', ', 1 new search parameter\n')}Indexed again while searches continue: Basic (0 documents)\n`,
      err: 'fhir: searches cannot use 1 search parameter that the package does not mark as active\n',
    })
    const listed = async () => (await run('list')).out
    const all = await eventually(listed, { until: (text) => !text.includes('building'), every: 10, within: 60_000 })
    expect(all).toMatch(/example\.guide +1\.0\.0 +2 +0 +0 +1 searched \(1 draft\), 1 not active\n/)
    const search = await fetch(`${server.base}/Basic?own-draft=Patient/p`, { headers: { prefer: 'handling=strict' } })
    expect(search.status).toBe(200)
  })

  it('names search parameters that it replaces in other packages, and those that it does not use because of them', async () => {
    const archive = (name: string, expression: string) =>
      writeArchiveFile({
        'package/package.json': { name, version: '1.0.0' },
        'package/SearchParameter-p.json': {
          ...{ resourceType: 'SearchParameter', id: 'p', url: `http://example.org/${name}/p`, status: 'active', code: 'own-subject' },
          ...{ name: 'p', description: 'p', base: ['Basic'], type: 'reference', expression },
        },
      })
    expect((await run('add', await archive('example.m', 'Basic.subject'))).err).toBe('')
    expect((await run('add', await archive('example.z', 'Basic.author'))).err).toBe(
      'fhir: its parameter own-subject is not used: searches by its code use the parameter of example.m 1.0.0\n',
    )
    const replacing = await archive('example.a', 'Basic.author')
    for (const options of [['--dry-run'], []])
      expect((await run('add', ...options, replacing)).err).toBe(
        'fhir: searches by own-subject now use its parameter, and no longer that of example.m 1.0.0\n',
      )
    expect((await run('add', await archive('example.0', 'Basic.author'))).err).toBe('')
  })

  it('is only described by a dry run', async () => {
    const parameter = { resourceType: 'SearchParameter', id: 'p', url: 'http://example.org/p', status: 'active', code: 'own-subject' }
    const meaning = { base: ['Basic'], type: 'reference', expression: 'Basic.subject' }
    const file = await writeArchiveFile(guideFilesOf('1.0.0', { 'package/SearchParameter-p.json': { ...parameter, ...meaning } }))
    const before = (await run('list')).out
    expect(await run('add', '--dry-run', file)).toEqual({
      code: 0,
      out: `${GUIDE_NAME} 1.0.0 would be added: 2 profiles and extensions, 0 value sets, 0 code systems, 1 new search parameter\nTo be indexed again while searches continue: Basic (0 documents)\n`,
      err: '',
    })
    expect((await run('list')).out).toBe(before)
  })

  it('is recorded with the operator when it is added and removed', async () => {
    const audit = () =>
      readdirSync(join(data, 'audit'))
        .filter((name) => name.endsWith('.commands.jsonl'))
        .flatMap((name) =>
          readFileSync(join(data, 'audit', name), 'utf8')
            .trim()
            .split('\n'),
        )
        .map((line) => JSON.parse(line) as Tree)
    const before = audit().length
    await add('1.0.0')
    await add('1.0.0')
    await run('remove', `${GUIDE_NAME}@1.0.0`)
    expect(audit().slice(before)).toMatchObject([
      { interaction: 'package add', key: `${GUIDE_NAME}@1.0.0`, outcome: 'done', operator: expect.any(String) },
      { interaction: 'package remove', key: `${GUIDE_NAME}@1.0.0`, outcome: 'done' },
    ])
  })

  it('is reported as damaged by responses, log and list, and repaired by adding it again', async () => {
    await add('1.0.0')
    const values = { 'package/package.json': { name: 'example.colors', version: '1.0.0' }, 'package/colors.json': COLORS_VALUE_SET }
    await run('add', await writeArchiveFile(values))
    const file = join(data, 'packages', `${GUIDE_NAME}-1.0.0`, 'Basic.json')
    writeFileSync(file, readFileSync(file, 'utf8').slice(0, 100))
    const damaged = `The package ${GUIDE_NAME} 1.0.0 is damaged: Basic.json is not as it was. Remove it, and add it again`
    expect(await validated('with-subject', basicWithColor('red'))).toEqual([422, 'error not-found', 'warning incomplete'])
    expect(await validated('with-color', { ...basicWithColor('red'), meta: { profile: [guideCanonicalOf('with-subject')] } })).toEqual([
      ...[422, 'error not-found', 'warning incomplete'],
    ])
    const naming = JSON.stringify({ ...basicWithColor('red'), meta: { profile: [guideCanonicalOf('with-subject')] } })
    const named = await fetch(`${server.base}/Basic/$validate`, {
      method: 'POST',
      headers: { 'content-type': 'application/fhir+json' },
      body: naming,
    })
    const { issue } = (await named.json()) as Tree
    expect([named.status, issue.map(({ details }: Tree) => details.text)]).toEqual([200, expect.arrayContaining([damaged])])
    // The server logs the damage once for each state of the folder. The state changes again two seconds after a package was added.
    expect(server.err()).toContain(damaged)
    expect((await run('list')).out).toMatch(
      /example\.colors +1\.0\.0 +0 +1 +0\nexample\.guide +1\.0\.0 +damaged: remove it, and add it again\n/,
    )
    await run('remove', `${GUIDE_NAME}@1.0.0`)
    await add('1.0.0')
    expect(await validated('with-subject', basicWithColor('red'))).toEqual([200, 'error required'])
  })
})

/** Creates an archive with so many definitions that writing them takes a while. */
async function large(): Promise<string> {
  const types = ['Patient', 'Observation', 'Condition', 'Encounter', 'Procedure', 'Basic', 'Goal', 'Device', 'Group', 'Flag']
  const differential = { element: [{ id: 'x', path: 'x', patternString: 'x'.repeat(200_000), min: 1 }] }
  const profiles = types.map((type) => ({ ...profile(`on-${type}`, '1.0.0', []), type, differential }))
  return writeArchiveFile(guideFilesOf('1.0.0', Object.fromEntries(profiles.map((each) => [`package/${each.id}.json`, each]))))
}

const finished = (data: string): readonly string[] => readdirSync(join(data, 'packages')).filter((name) => name === `${GUIDE_NAME}-1.0.0`)

describe('A package is complete or absent', () => {
  it('if the command is killed at any point', async () => {
    const data = newFolder()
    const file = await large()
    let left = 0
    for (let step = 0; step < caseCountOf(3, 20); step++) {
      const child = spawn(process.execPath, ['bin/fhir.js', 'package', 'add', file, '--data', data])
      const ended = new Promise((resolve) => child.on('close', resolve))
      // The command has begun to write and has not finished.
      const isWriting = () => {
        try {
          return readdirSync(join(data, 'packages')).some((name) => name.startsWith(GUIDE_NAME))
        } catch {
          return false
        }
      }
      while (child.exitCode === null && !isWriting()) await new Promise((resolve) => setImmediate(resolve))
      child.kill('SIGKILL')
      await ended
      left += readdirSync(join(data, 'packages')).filter((name) => name.endsWith('.unfinished')).length
      const { out } = await runFhir('package', 'list', '--data', data)
      expect(out.split('\n').filter((line) => line.startsWith(GUIDE_NAME))).toEqual(
        finished(data).map(() => expect.stringMatching(/ 12 +0 +0$/)),
      )
      if (finished(data).length > 0) rmSync(join(data, 'packages', `${GUIDE_NAME}-1.0.0`), { recursive: true })
    }
    expect(left).toBeGreaterThan(0)
    expect((await runFhir('package', 'add', file, '--data', data)).code).toBe(0)
    expect(readdirSync(join(data, 'packages')).toSorted()).toEqual([`${GUIDE_NAME}-1.0.0`, 'lock.db'])
  })

  it('if two commands add it at once: one succeeds', async () => {
    const data = newFolder()
    const file = await large()
    const results = await Promise.all([1, 2].map(() => runFhir('package', 'add', file, '--data', data)))
    expect(results.map(({ code }) => code).toSorted()).toEqual([0, 1])
    expect(results.find(({ code }) => code === 1)!.err).toContain('is already added')
    expect(finished(data)).toHaveLength(1)
  })

  const small = newFolder()
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]).status === 0
  if (isMounted) runAtEnd(() => void spawnSync('umount', [small]))
  else process.stderr.write('Only root can make a small disk: that packages are whole on a full one is not tested\n')
  const itOnSmallDisk = isMounted ? it : it.skip

  itOnSmallDisk('where the disk is full', async () => {
    const { code, err } = await runFhir('package', 'add', await large(), '--data', small)
    expect([code, err]).toEqual([1, expect.stringContaining('ENOSPC')])
    expect(readdirSync(join(small, 'packages'))).toEqual(['lock.db'])
  })

  it('or, once damaged, is reported by the list and can be removed', async () => {
    const data = newFolder()
    mkdirSync(join(data, 'packages', `${GUIDE_NAME}-1.0.0`), { recursive: true })
    writeFileSync(join(data, 'packages', `${GUIDE_NAME}-1.0.0`, 'index.json'), '{')
    expect((await runFhir('package', 'list', '--data', data)).out).toMatch(/example\.guide +1\.0\.0 +damaged: remove it/)
    expect((await runFhir('package', 'remove', `${GUIDE_NAME}@1.0.0`, '--data', data)).code).toBe(0)
    expect(finished(data)).toEqual([])
  })
})

it('A package that is added to a stopped server is listed with parameters that the next start builds', async () => {
  const data = newFolder()
  const parameter = { resourceType: 'SearchParameter', id: 'p', url: 'http://example.org/p', status: 'active', code: 'own-subject' }
  const meaning = { base: ['Basic'], type: 'reference', expression: 'Basic.subject' }
  const file = await writeArchiveFile(guideFilesOf('1.0.0', { 'package/SearchParameter-p.json': { ...parameter, ...meaning } }))
  expect((await runFhir('package', 'add', file, '--data', data)).code).toBe(0)
  const { out } = await runFhir('package', 'list', '--data', data)
  expect(out).toMatch(/example\.guide +1\.0\.0 +2 +0 +0 +1 searched after the next start\n$/)
})
