/** Conditional references, on every write. https://hl7.org/fhir/R4/http.html#trules @cloud:here */
import { describe, expect, it } from '@jest/globals'
import { observation, patient } from '../fixtures/resources.ts'
import { issuesOf, newId, type TestResponse, type Tree, withServer } from './server.ts'

const { get, put, post, patch } = withServer()

const SYSTEM = 'http://a.example/ids?of=clinics'

/** As many Organizations with one identifier; the search that finds them. */
async function organizations(...ids: readonly string[]): Promise<string> {
  const value = newId()
  for (const id of ids) await put(`/Organization/${id}`, { resourceType: 'Organization', id, identifier: [{ system: SYSTEM, value }] })
  return `Organization?identifier=${SYSTEM}|${value}`
}

const of = (organization: string, id = newId()): Tree => patient(id, { managingOrganization: { reference: organization } })
const bundle = (type: string, ...entry: Tree[]): Tree => ({ resourceType: 'Bundle', type, entry })
const entry = (method: string, url: string, resource: Tree): Tree => ({ resource, request: { method, url } })
const jsonPatch = (...operations: Tree[]): Tree => ({
  resourceType: 'Binary',
  contentType: 'application/json-patch+json',
  data: Buffer.from(JSON.stringify(operations)).toString('base64'),
})

const add = (reference: string): Tree => ({ op: 'add', path: '/managingOrganization', value: { reference } })
const fhirPathPatch = (reference: string): Tree => ({
  resourceType: 'Parameters',
  parameter: [
    {
      name: 'operation',
      part: [
        { name: 'type', valueCode: 'add' },
        { name: 'path', valueString: 'Patient' },
        { name: 'name', valueString: 'managingOrganization' },
        { name: 'value', valueReference: { reference } },
      ],
    },
  ],
})

type Write = (id: string, reference: string) => Promise<TestResponse>
const stored = async (id: string): Promise<TestResponse> => {
  await put(`/Patient/${id}`, patient(id))
  return get(`/Patient/${id}`)
}

/** Alone, or as an entry: what is at fault is then told from the Bundle. */
const ALONE: Readonly<Record<string, Write>> = {
  create: (id, reference) => post('/Patient', of(reference, id)),
  'conditional create': (id, reference) => post('/Patient', of(reference, id), { 'if-none-exist': `_id=${id}` }),
  update: (id, reference) => put(`/Patient/${id}`, of(reference, id)),
  'conditional update': (id, reference) => put(`/Patient?_id=${id}`, of(reference, id)),
  'JSON Patch': (id, reference) => stored(id).then(() => patch(`/Patient/${id}`, [add(reference)])),
  'JSON Patch of the reference alone': (id, reference) =>
    stored(id).then(() =>
      patch(`/Patient/${id}`, [add('Organization/1'), { op: 'replace', path: '/managingOrganization/reference', value: reference }]),
    ),
  'FHIRPath Patch': (id, reference) =>
    stored(id).then(() => patch(`/Patient/${id}`, fhirPathPatch(reference), { 'content-type': 'application/fhir+json' })),
  'conditional patch': (id, reference) => stored(id).then(() => patch(`/Patient?_id=${id}`, [add(reference)])),
}

const ENTRIES: Readonly<Record<string, Write>> = Object.fromEntries(
  ['batch', 'transaction'].flatMap((type): [string, Write][] => [
    [`POST in a ${type}`, (id, reference) => post('/', bundle(type, entry('POST', 'Patient', of(reference, id))))],
    [`PUT in a ${type}`, (id, reference) => post('/', bundle(type, entry('PUT', `Patient/${id}`, of(reference, id))))],
    [
      `PATCH in a ${type}`,
      (id, reference) => stored(id).then(() => post('/', bundle(type, entry('PATCH', `Patient/${id}`, jsonPatch(add(reference)))))),
    ],
  ]),
)

const PLACE = 'Patient.managingOrganization.reference'
const PLACE_OF_ENTRY = 'Bundle.entry[0].resource.managingOrganization.reference'
const CASES = [
  ...Object.entries(ALONE).map(([name, write]) => [name, write, PLACE] as const),
  ...Object.entries(ENTRIES).map(([name, write]) => [name, write, PLACE_OF_ENTRY] as const),
]

/** The outcome of the only entry of a batch, or of the whole request. */
function outcomeOf({ status, body, ...rest }: TestResponse): TestResponse {
  const response = body?.type === 'batch-response' ? body.entry[0].response : undefined
  return { ...rest, status: response === undefined ? status : Number(response.status.slice(0, 3)), body: response?.outcome ?? body }
}

describe('a conditional reference', () => {
  it.each(CASES)('is resolved: %s', async (_name, write, _place) => {
    const [id, organization] = [newId(), newId()]
    const answer = await write(id, await organizations(organization))
    expect(outcomeOf(answer).status).toBeLessThan(300)
    expect((await get(`/Patient/${id}`)).body.managingOrganization).toEqual({ reference: `Organization/${organization}` })
  })
  it.each(CASES)('is rejected without a match, with its location: %s', async (_, write, place) => {
    const id = newId()
    const answer = outcomeOf(await write(id, await organizations()))
    expect([answer.status, issuesOf(answer)]).toEqual([412, [`error not-found ${place}`]])
    expect((await get(`/Patient/${id}`)).body.managingOrganization).toBeUndefined()
  })
  it.each(CASES)('is rejected for several matches, with its location: %s', async (_, write, place) => {
    const answer = outcomeOf(await write(newId(), await organizations(newId(), newId())))
    expect([answer.status, issuesOf(answer)]).toEqual([412, [`error multiple-matches ${place}`]])
  })
  it.each([
    'Organization?nonsense=1',
    'Organization?_count=1',
    'Organization?',
    'Organization?identifier:nope=1',
    'Nothing?identifier=urn:x|1',
  ])('is rejected if it is no valid search, with its location: %s', async (reference) => {
    const alone = await put(`/Basic/x`, {
      resourceType: 'Basic',
      id: 'x',
      code: { text: 'x' },
      extension: [{ url: 'urn:x', valueUri: reference }],
    })
    expect([alone.status, alone.body.issue[0].expression]).toEqual([400, ['Basic.extension[0].valueUri']])
    const inTransaction = await post(
      '/',
      bundle('transaction', entry('POST', 'Patient', patient(newId())), entry('POST', 'Patient', of(reference))),
    )
    expect([inTransaction.status, inTransaction.body.issue[0].expression]).toEqual([
      400,
      [expect.stringMatching(/^Bundle\.entry\[1]\.resource\./)],
    ])
  })
  it('is resolved in every reference, in contained resources too', async () => {
    const [id, organization] = [newId(), newId()]
    const reference = await organizations(organization)
    const answer = await put(`/Observation/${id}`, {
      resourceType: 'Observation',
      id,
      status: 'final',
      code: { text: 'x' },
      contained: [{ resourceType: 'Patient', id: 'p', managingOrganization: { reference } }],
      subject: { reference: '#p' },
      performer: [{ reference: 'Practitioner/1' }, { reference }],
      extension: [{ url: 'urn:x', valueReference: { reference } }],
    })
    const resolved = { reference: `Organization/${organization}` }
    expect([answer.status, answer.body]).toEqual([
      201,
      expect.objectContaining({
        contained: [{ resourceType: 'Patient', id: 'p', managingOrganization: resolved }],
        performer: [{ reference: 'Practitioner/1' }, resolved],
        extension: [{ url: 'urn:x', valueReference: resolved }],
      }),
    ])
  })
  it('is not resolved in canonicals, plain text or entries of a stored Bundle', async () => {
    const [carePlan, stored] = [newId(), newId()]
    const reference = await organizations()
    const plan = {
      resourceType: 'CarePlan',
      id: carePlan,
      status: 'active',
      intent: 'plan',
      subject: { reference: 'Patient/1' },
      instantiatesCanonical: [reference],
      description: reference,
    }
    expect((await put(`/CarePlan/${carePlan}`, plan)).body).toMatchObject(plan)
    const collection = {
      resourceType: 'Bundle',
      id: stored,
      type: 'collection',
      entry: [{ fullUrl: 'urn:uuid:1', resource: of(reference) }],
    }
    expect((await put(`/Bundle/${stored}`, collection)).body).toMatchObject(collection)
    const inTransaction = await post('/', bundle('transaction', { fullUrl: 'urn:uuid:1', ...entry('PUT', `Bundle/${stored}`, collection) }))
    expect(inTransaction.status).toBe(200)
    expect((await get(`/Bundle/${stored}`)).body).toMatchObject(collection)
  })
  it('affects only its own entry of a batch', async () => {
    const organization = newId()
    const references = [await organizations(), await organizations(organization), 'Organization/any']
    const answer = await post('/', bundle('batch', ...references.map((reference) => entry('POST', 'Patient', of(reference)))))
    expect(answer.body.entry.map(({ response }: Tree) => response.status)).toEqual([
      '412 Precondition Failed',
      '201 Created',
      '201 Created',
    ])
  })
  it('finds preceding writes, and no longer finds changed resources', async () => {
    const organization = newId()
    const reference = await organizations(organization)
    expect((await post('/', bundle('batch', entry('POST', 'Patient', of(reference))))).body.entry[0].response.status).toBe('201 Created')
    await put(`/Organization/${organization}`, { resourceType: 'Organization', id: organization, name: 'another' })
    expect((await post('/Patient', of(reference))).status).toBe(412)
  })
  it('is reported for the first invalid entry', async () => {
    const several = await organizations(newId(), newId())
    const answer = await post(
      '/',
      bundle(
        'transaction',
        entry('POST', 'Patient', of('Organization/1')),
        entry('POST', 'Patient', of(several)),
        entry('POST', 'Patient', of('Organization?nonsense=1')),
      ),
    )
    expect([answer.status, issuesOf(answer)]).toEqual([
      412,
      ['error multiple-matches Bundle.entry[1].resource.managingOrganization.reference'],
    ])
  })
})

describe('A reference', () => {
  /** Ids of the Observations that each way to look for the patient's data finds. */
  async function found(patientId: string): Promise<readonly (readonly string[])[]> {
    const queries = [
      ...[`/Patient/${patientId}/Observation`, `/Observation?subject=Patient/${patientId}`, `/Observation?patient._id=${patientId}`],
      ...[`/Patient?_id=${patientId}&_revinclude=Observation:subject`, `/Patient/${patientId}/$everything`],
    ]
    return Promise.all(
      queries.map(async (query) => {
        const { entry = [] } = (await get(query)).body
        return entry.filter(({ resource }: Tree) => resource.resourceType === 'Observation').map(({ resource }: Tree) => resource.id)
      }),
    )
  }

  const observed = async (reference: string): Promise<string> => {
    const id = newId()
    await put(`/Observation/${id}`, observation(id, { subject: reference }))
    return id
  }

  it.each([' ', '/', '/_history/', '|1', '/_history/1/x', '?x', '#x'])(
    'with a malformed end refers to no patient in compartments, searches, chains and includes: "%s"',
    async (end) => {
      const id = newId()
      await put(`/Patient/${id}`, patient(id))
      await observed(`Patient/${id}${end}`)
      expect(await found(id)).toEqual([[], [], [], [], []])
    },
  )

  it('is read alike by compartments, searches, chains and includes', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    const own = (await get('/metadata')).body.implementation.url
    const all = [await observed(`Patient/${id}`), await observed(`Patient/${id}/_history/1`), await observed(`${own}/Patient/${id}`)].sort()
    for (const ids of await found(id)) expect([...ids].sort()).toEqual(all)
  })
})
