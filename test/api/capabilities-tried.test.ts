/** What the CapabilityStatement claims is asked for, and what it does not claim is looked for. https://hl7.org/fhir/R4/capabilitystatement.html @cloud:here */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { ROUTES } from '../../lambdas/catalogue/catalogue.ts'
import { patient } from '../fixtures/resources.ts'
import { isExternalServer, issuesOf, itOnEmbedded, newId, type Tree, withServer } from './server.ts'

const { get, put, post, patch, send, delete: remove } = withServer({ FHIR_CLIENT_IDS: 'optional' })

const STRICT = { prefer: 'handling=strict' }

/** Elsewhere a request costs more: parameters and includes of these types are tried there, among which are all types of parameters. */
const SAMPLE = [
  'Patient',
  'Observation',
  'Encounter',
  'Group',
  'Device',
  'Practitioner',
  'RelatedPerson',
  'Location',
  'ValueSet',
  'RiskAssessment',
]

let statement: Tree
let rest: Tree
let types: readonly Tree[]
let tried: readonly Tree[]

beforeAll(async () => {
  statement = (await get('/metadata')).body
  rest = statement.rest[0]
  types = rest.resource
  tried = isExternalServer ? types.filter(({ type }) => SAMPLE.includes(type)) : types
})

const named = (list: readonly Tree[] | undefined): readonly string[] => (list ?? []).map(({ name }) => name)
const codes = (list: readonly Tree[]): readonly string[] => list.map(({ code }) => code)

function* chunks<T>(all: readonly T[], size: number): Generator<readonly T[], void> {
  for (let i = 0; i < all.length; i += size) yield all.slice(i, i + size)
}

const VALUES: Readonly<Record<string, string>> = { date: '2020', number: '1', quantity: '1', reference: 'Patient/1', special: '1|1' }

/** One that a composite of these components takes is not to be guessed: its parts are tried by their own names. */
const isGuessable = ({ type }: Tree): boolean => type !== 'composite'

describe('Search parameters', () => {
  it('have a sample with each type of parameter', () => {
    const typesOf = (some: readonly Tree[]) => new Set(some.flatMap(({ searchParam }) => searchParam.map(({ type }: Tree) => type)))
    const sample = types.filter(({ type }) => SAMPLE.includes(type))
    expect([sample.length, typesOf(sample)]).toEqual([SAMPLE.length, typesOf(types)])
    expect(tried.length).toBe(isExternalServer ? SAMPLE.length : 146)
  })

  it('are accepted by each type that claims them, and by no other', async () => {
    const all = [...new Set<string>(types.flatMap(({ searchParam }) => searchParam.filter(isGuessable).map(({ name }: Tree) => name)))]
    const differing: string[] = []
    for (const { type, searchParam } of tried) {
      const claimed = new Map<string, Tree>(searchParam.map((each: Tree) => [each.name, each]))
      const asked = all.filter((name) => isGuessable(claimed.get(name) ?? {}))
      for (const some of chunks(asked, 100)) {
        const query = some.map((name) => `${name}=${VALUES[claimed.get(name)?.type] ?? 'x'}`).join('&')
        const { status, body, text } = await get(`/${type}?${query}&_count=0`)
        if (status !== 200) differing.push(`${type}: ${status} ${text.slice(0, 300)}`)
        const self = new URL(body.link?.find(({ relation }: Tree) => relation === 'self')?.url ?? 'http://x')
        const used = new Set([...self.searchParams.keys()])
        for (const name of some) if (used.has(name) !== claimed.has(name)) differing.push(`${type}?${name}`)
      }
    }
    expect(differing).toEqual([])
    expect(all.length).toBeGreaterThan(400)
  })

  it('are found by name if they are composites', async () => {
    const composites = tried.flatMap(({ type, searchParam }) =>
      searchParam.filter((each: Tree) => !isGuessable(each)).map(({ name }: Tree) => [type, name]),
    )
    for (const [type, name] of composites) {
      const answer = await get(`/${type}?${name}=x&_count=0`, STRICT)
      expect([type, name, answer.status, issuesOf(answer)[0]]).toEqual([type, name, 400, expect.not.stringContaining('not-found')])
    }
    expect(composites.length).toBeGreaterThan(isExternalServer ? 5 : 20)
  })
})

describe('Includes', () => {
  it('are accepted where they are claimed', async () => {
    for (const { type, searchInclude, searchRevInclude } of tried)
      for (const [parameter, claimed] of [
        ['_include', searchInclude],
        ['_revinclude', searchRevInclude],
      ])
        for (const some of chunks<string>(claimed, 50)) {
          const answer = await get(`/${type}?${some.map((value) => `${parameter}=${value}`).join('&')}&_count=1`, STRICT)
          expect([type, answer.status, issuesOf(answer)]).toEqual([type, 200, []])
        }
  })

  it('are claimed for each reference parameter, and for no other', async () => {
    for (const { type, searchParam, searchInclude } of tried) {
      const references = searchParam.filter((each: Tree) => each.type === 'reference').map(({ name }: Tree) => `${type}:${name}`)
      const others = searchParam.filter((each: Tree) => each.type !== 'reference').map(({ name }: Tree) => `${type}:${name}`)
      expect([type, references.filter((each: string) => !searchInclude.includes(each))]).toEqual([type, []])
      expect([type, others.filter((each: string) => searchInclude.includes(each))]).toEqual([type, []])
      for (const wrong of [`_include=${others[0]}`, `_include=${type}:nothing`, `_revinclude=${type}:nothing`])
        expect([type, wrong, (await get(`/${type}?${wrong}`, STRICT)).status]).toEqual([type, wrong, 400])
    }
  })
})

/** Answered by an operation: not as a path that is none, or a method that it has not. */
const isThere = (status: number, found: readonly string[]): boolean => status !== 405 && !(status === 404 && found.length > 0)

describe('Operations', () => {
  const all = [...new Set(ROUTES.flatMap(({ path }) => /\$([a-z-]+)/.exec(path)?.[1] ?? []))]

  async function isAnswered(path: string): Promise<boolean> {
    const read = await send('GET', path)
    if (isThere(read.status, issuesOf(read))) return true
    const posted = await post(path, { resourceType: 'Parameters', parameter: [{ name: 'x', valueString: 'x' }] })
    return isThere(posted.status, issuesOf(posted))
  }

  const LEVELS = ['', ...['Patient', 'Group', 'DocumentReference', 'Observation'].flatMap((type) => [`/${type}`, `/${type}/none`])].filter(
    (level) => !isExternalServer || !/(?:Reference|Observation)\/none/.test(level),
  )
  /** An export is named as its definition too, as clients look for either. */
  const ALIASES = ['patient-export', 'group-export']

  it('are claimed by name, and no others', () => {
    const claimed = [...named(rest.operation), ...types.flatMap(({ operation }) => named(operation))]
    expect([...new Set(claimed)].filter((name) => !all.includes(name) && !ALIASES.includes(name))).toEqual([])
    expect(all.filter((name) => !claimed.includes(name))).toEqual([])
  })

  it('exist where they are claimed, and nowhere else', async () => {
    const differing: string[] = []
    for (const level of LEVELS) {
      const type = level.split('/')[1]
      const claimed = named(type === undefined ? rest.operation : types.find((each) => each.type === type)!.operation)
      for (const name of all) if ((await isAnswered(`${level}/$${name}`)) && !claimed.includes(name)) differing.push(`${level}/$${name}`)
      for (const name of claimed.filter((each) => all.includes(each)))
        if (!(await isAnswered(`/${type ?? ''}/$${name}`.replace('//', '/'))) && !(await isAnswered(`/${type}/none/$${name}`)))
          differing.push(`${level} ${name}`)
    }
    expect(differing).toEqual([])
  })
})

describe('Interactions and policies of each type', () => {
  it('are the same for all types', () => {
    const claims = types.map(
      ({
        type: _,
        searchParam: _p,
        searchInclude: _i,
        searchRevInclude: _r,
        operation: _o,
        supportedProfile: _s,
        extension: _e,
        ...same
      }) => JSON.stringify(same),
    )
    expect(new Set(claims).size).toBe(1)
    expect(types).toHaveLength(146)
  })

  it('work as they are claimed', async () => {
    const [{ interaction, ...policies }] = types
    const id = newId()
    const body = patient(id, { identifier: [{ system: 'urn:tried', value: id }] })
    const criterion = `identifier=urn:tried|${id}`
    const asking: Readonly<Record<string, () => Promise<number>>> = {
      create: async () => (await post('/Patient', body)).status,
      update: async () => (await put(`/Patient/${id}`, { ...body, active: true })).status,
      patch: async () => (await patch(`/Patient/${id}`, [{ op: 'add', path: '/gender', value: 'other' }])).status,
      read: async () => (await get(`/Patient/${id}`)).status,
      vread: async () => (await get(`/Patient/${id}/_history/1`)).status,
      'history-instance': async () => (await get(`/Patient/${id}/_history`)).status,
      'history-type': async () => (await get('/Patient/_history')).status,
      'search-type': async () => (await get(`/Patient?${criterion}`)).status,
      delete: async () => (await remove(`/Patient/${id}`)).status,
    }
    expect([...codes(interaction)].sort()).toEqual(Object.keys(asking).sort())
    const statuses: Record<string, number> = {}
    for (const [code, ask] of Object.entries(asking)) statuses[code] = await ask()
    expect(statuses).toEqual({
      ...{ create: 201, update: 200, patch: 200, read: 200, vread: 200, delete: 204 },
      ...{ 'history-instance': 200, 'history-type': 200, 'search-type': 200 },
    })

    expect(policies.updateCreate).toBe(true)
    expect((await put(`/Patient/${id}-new`, { ...body, id: `${id}-new` })).status).toBe(201)

    expect(policies.conditionalCreate).toBe(true)
    expect((await post('/Patient', { ...body, id: `${id}-other` }, { 'if-none-exist': criterion })).status).toBe(200)

    expect(policies.conditionalUpdate).toBe(true)
    const updated = await put(`/Patient?${criterion}`, { ...body, id: undefined, active: false })
    expect([updated.status, updated.body.id]).toEqual([200, `${id}-new`])

    expect(policies.conditionalRead).toBe('full-support')
    const read = await get(`/Patient/${id}-new`)
    const unchanged = [{ 'if-none-match': read.headers.get('etag')! }, { 'if-modified-since': new Date(Date.now() + 60_000).toUTCString() }]
    for (const headers of unchanged) expect((await get(`/Patient/${id}-new`, headers as Record<string, string>)).status).toBe(304)

    expect([policies.versioning, policies.readHistory]).toEqual(['versioned-update', true])
    expect((await put(`/Patient/${id}-new`, { ...body, id: `${id}-new` }, { 'if-match': 'W/"1"' })).status).toBe(412)
    expect((await get(`/Patient/${id}-new/_history/1`)).status).toBe(200)

    expect(policies.conditionalDelete).toBe('single')
    await put(`/Patient/${id}-twin`, { ...body, id: `${id}-twin` })
    expect((await remove(`/Patient?${criterion}`)).status).toBe(412)
    await remove(`/Patient/${id}-twin`)
    expect((await remove(`/Patient?${criterion}`)).status).toBe(204)
  })
})

it('System interactions work as claimed, and are complete', async () => {
  const bundle = (type: string) => ({ resourceType: 'Bundle', type, entry: [{ request: { method: 'GET', url: 'Patient?_count=1' } }] })
  const asking: Readonly<Record<string, () => Promise<number>>> = {
    transaction: async () => (await post('/', bundle('transaction'))).status,
    batch: async () => (await post('/', bundle('batch'))).status,
    'search-system': async () => (await get('/?_count=1')).status,
    'history-system': async () => (await get('/_history?_count=1')).status,
  }
  expect([...codes(rest.interaction)].sort()).toEqual(Object.keys(asking).sort())
  for (const [code, ask] of Object.entries(asking)) expect([code, await ask()]).toEqual([code, 200])
})

it('System search accepts the claimed parameters, and no others', async () => {
  const claimed = named(rest.searchParam)
  const queries: Readonly<Record<string, string>> = {
    ...{ _has: 'Patient?_has:Observation:patient:code=x', _group: '?_group=_id', _groupSort: '?_group=_id&_groupSort=_id' },
    _groupCount: '?_group=_id&_groupCount=2',
  }
  for (const name of claimed)
    expect([name, (await get(`/${queries[name] ?? `?${name}=2020`}&_count=0`, STRICT)).status]).toEqual([name, 200])
  for (const name of ['family', 'code', 'patient']) expect([name, (await get(`/?${name}=x`, STRICT)).status]).toEqual([name, 400])
  expect(claimed).toEqual(expect.arrayContaining(['_id', '_lastUpdated', '_tag', '_profile', '_security', '_source']))
})

it('Compartments can be searched where they are claimed, and nowhere else', async () => {
  const owners = (rest.compartment as readonly string[]).map((url) => url.split('/').at(-1))
  for (const { type } of isExternalServer ? types.filter((_, n) => n % 10 === 0).concat(tried) : types) {
    const { status } = await get(`/${type}/none/*?_count=1`)
    expect([type, status]).toEqual([type, owners.includes(type.toLowerCase()) ? 200 : 404])
  }
  expect(owners.sort()).toEqual(['device', 'encounter', 'patient', 'practitioner', 'relatedperson'])
})

it('Formats are accepted as claimed, also for patches', async () => {
  for (const format of statement.format)
    expect([format, (await get(`/Patient?_format=${format.replace('+', '%2B')}`)).status]).toEqual([format, 200])
  expect((await get('/Patient?_format=xml')).status).toBe(406)
  const id = newId()
  await put(`/Patient/${id}`, patient(id))
  for (const type of statement.patchFormat)
    expect([type, (await patch(`/Patient/${id}`, '{}', { 'content-type': type })).status]).toEqual([type, 400])
  expect((await patch(`/Patient/${id}`, '{}', { 'content-type': 'application/merge-patch+json' })).status).toBe(415)
})

const [elsewhere, logical] = [{ reference: 'http://example.org/fhir/Organization/1' }, { identifier: { system: 'urn:x', value: '1' } }]
const policyOf = (resource: readonly Tree[]): readonly string[] => resource.find(({ type }) => type === 'Patient').referencePolicy
const storing = (store: typeof put, managingOrganization: Tree, id = newId()) =>
  store(`/Patient/${id}`, patient(id, { managingOrganization })).then(({ status }) => status)

it('References are accepted as claimed', async () => {
  expect(policyOf(types)).toEqual(['literal', 'logical'])
  expect(await storing(put, elsewhere)).toBe(201)
  expect(await storing(put, logical)).toBe(201)
  expect(await storing(put, { reference: 'Organization/none' })).toBe(201)
})

describe('Other settings', () => {
  const other = withServer({ FHIR_VERSIONING: 'off', ...(isExternalServer ? {} : { FHIR_REFERENTIAL_INTEGRITY: 'on' }) })

  itOnEmbedded('AWS has no referential integrity')('enforce references, and claim so', async () => {
    expect(policyOf((await other.get('/metadata')).body.rest[0].resource)).toEqual(['literal', 'logical', 'enforced'])
    expect(await storing(other.put, elsewhere)).toBe(201)
    expect(await storing(other.put, logical)).toBe(201)
    expect(await storing(other.put, { reference: 'Organization/none' })).toBe(422)
  })

  it('neither claim nor return earlier versions without versioning', async () => {
    const { interaction, versioning, readHistory } = (await other.get('/metadata')).body.rest[0].resource[0]
    expect([codes(interaction).includes('vread'), versioning, readHistory]).toEqual([false, 'versioned-update', false])
    const id = newId()
    for (const active of [true, false]) await other.put(`/Patient/${id}`, patient(id, { active }))
    expect((await other.get(`/Patient/${id}/_history/1`)).status).toBe(404)
    expect((await other.get(`/Patient/${id}/_history`)).body.entry).toHaveLength(1)
    expect((await other.put(`/Patient/${id}`, patient(id), { 'if-match': 'W/"1"' })).status).toBe(412)
  })
})
