/** Requests of every kind, and what they answer: by kind, so that none is forgotten. */
import { patient, type Tree } from '../fixtures/resources.ts'
import { ANN, bundle, entry, NARRATIVE, numberedObservation, OWN_PARAMETER } from './answers-stored.ts'
import { read } from './cases.ts'

/** `path` may be a link; `status`: what is expected, 200 unless it says otherwise. */
type Request = {
  readonly method: string
  readonly path: string
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export type Kind = { readonly kind: string; readonly requests: readonly Request[] }

const get = (path: string, headers: Request['headers'] = {}): Request => ({ method: 'GET', path, headers })
const invalid = (status: number, method: string, path: string, body?: unknown, headers: Request['headers'] = {}): Request => ({
  ...{ method, path, status, headers },
  ...(body === undefined ? {} : { body }),
})
const post = (path: string, body: unknown, headers: Request['headers'] = {}): Request => ({ method: 'POST', path, body, headers })

const seedTypes = (): readonly string[] => [...new Set([...read('base').seeds.values()].map(({ resourceType }) => resourceType as string))]

const SUMMARIES = ['true', 'text', 'data', 'false', 'count'] as const

const METADATA: Kind = {
  kind: 'metadata',
  requests: [
    get('/metadata'),
    ...['_summary=true', '_summary=text', '_summary=data', '_summary=false', '_pretty=true', 'mode=full'].map((query) =>
      get(`/metadata?${query}`),
    ),
    ...['rest', 'software', 'name,status', 'implementation,rest', 'format', 'CapabilityStatement.url'].map((names) =>
      get(`/metadata?_elements=${names}`),
    ),
  ],
}

const SEARCHSETS: Kind = {
  kind: 'searchset',
  requests: [
    get('/Patient'),
    get('/Observation?_count=5'),
    get('/Observation?_count=0'),
    get('/Observation?_count=5&_total=none'),
    get('/Observation?_count=5&_total=estimate'),
    get('/Observation?code=nothing'),
    get('/Observation?patient=ann&_sort=-date,code&_count=3'),
    get('/Observation?_count=3', { prefer: 'pagination=offset-skip' }),
    get('/Observation?_count=3&_skip=3', { prefer: 'pagination=offset-skip' }),
    get('/Observation?_count=3&_page=1', { prefer: 'pagination=offset-page' }),
    get('/Observation?patient=ann&_include=Observation:patient&_count=3'),
    get('/Observation?_include=*&_count=20'),
    get('/Patient?_id=ann&_revinclude=*'),
    get('/Patient?_revinclude=Observation:subject&_revinclude:iterate=Provenance:target'),
    get('/Patient?nickname=x&no-such=1'),
    get('/Patient?_tag=tag&_security=N'),
    get('/Patient?_has:Observation:patient:code=c1'),
    get('/Observation?patient.family=Bell&value-quantity=gt3|http://unitsofmeasure.org|mg'),
    get('/Location?near=42.25475478|-83.6945691|500|km'),
    get('/?_type=Patient,Organization&_count=5'),
    get('/?_lastUpdated=gt2020&_count=20'),
    get('/Patient/ann/Observation?_count=2'),
    get('/Patient/ann/*'),
    { ...post('/Observation/_search', 'patient=ann&_count=2'), headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    { ...post('/Observation/_search?_count=2', 'patient=ann&foo=1'), headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    { ...post('/_search', '_type=Patient'), headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  ],
}

const GROUPS: Kind = {
  kind: 'groups',
  requests: [
    'code:code&_groupSort=-date&_groupCount=2',
    'code:system|code',
    'status&_groupSort=date',
    'patient:code&_count=1',
    'code&_summary=true',
    'no-match&code=nothing',
    'code&_elements=code',
  ].map((query) => ({ ...get(`/Observation?_group=${query}`), ...(query.startsWith('no-match') ? { status: 400 } : {}) })),
}

const EXPLAINED: Kind = {
  kind: 'Prefer: explain',
  requests: ['/Observation?patient.family=Bell', '/Patient?_count=0', '/?_type=Patient', '/Observation?_group=code'].map((path) =>
    get(path, { prefer: 'explain' }),
  ),
}

const HISTORY: Kind = {
  kind: 'history',
  requests: [
    '/Observation/o0/_history',
    '/Observation/o0/_history?_count=1',
    '/Observation/gone/_history',
    '/Observation/_history',
    '/Observation/_history?_count=2',
    '/Observation/_history?_count=0',
    '/_history?_count=10',
    '/_history?_since=2020-01-01T00:00:00Z&_count=5',
    '/_history?_since=2999-01-01T00:00:00Z',
    '/Observation/o0/_history?_at=2999',
    '/Observation/o0/_history?_summary=true',
    '/_history?_elements=status&_count=20',
    '/_history?_summary=text&_count=20',
  ].map((path) => get(path)),
}

const created = (id: string): Tree => entry(patient(id, { text: NARRATIVE }))

const BUNDLES: Kind = {
  kind: 'answers of batch and transaction',
  requests: [
    post('/', bundle('batch')),
    post('/', bundle('transaction')),
    post(
      '/',
      bundle(
        'batch',
        ...[created('new-1'), { request: { method: 'GET', url: 'Patient/ann' } }, { request: { method: 'GET', url: 'Patient/nobody' } }],
        ...[
          { request: { method: 'DELETE', url: 'Patient/new-9' } },
          { request: { method: 'GET', url: 'Observation?patient=ann&_count=2' } },
        ],
        ...[
          { request: { method: 'GET', url: 'Patient?birthdate=x' } },
          entry({ resourceType: 'Patient', id: 'new-2', gender: 'x', foo: 1 }),
        ],
        ...[{ request: { method: 'GET', url: 'metadata' } }, { request: { method: 'GET', url: 'Observation/o0/_history' } }],
      ),
    ),
    ...['representation', 'minimal', 'OperationOutcome'].map((name) =>
      post('/', bundle('transaction', created(`new-3-${name}`), { request: { method: 'GET', url: 'Patient/ann' } }), {
        prefer: `return=${name}`,
      }),
    ),
    post(
      '/',
      bundle('transaction', {
        fullUrl: 'urn:uuid:7f0a1c1e-8a52-4a57-9b8b-0d4a5d0e3c11',
        resource: { resourceType: 'Patient', text: NARRATIVE },
        request: { method: 'POST', url: 'Patient', ifNoneExist: 'identifier=http://example.org/mrn|1' },
      }),
    ),
    post('/', bundle('transaction', { request: { method: 'DELETE', url: 'Patient?identifier=http://example.org/mrn|none' } })),
    post(
      '/',
      bundle('batch', {
        resource: {
          resourceType: 'Binary',
          contentType: 'application/json-patch+json',
          data: btoa('[{"op":"add","path":"/active","value":true}]'),
        },
        request: { method: 'PATCH', url: 'Patient/ann' },
      }),
    ),
    invalid(400, 'POST', '/', bundle('transaction', created('new-4'), created('new-4'))),
    invalid(400, 'POST', '/', bundle('document')),
  ],
}

const OPERATIONS: Kind = {
  kind: 'operations',
  requests: [
    ...['', '?_count=3', '?start=2024-01-12&end=2024-01-15', '?_type=Observation', '?_since=2020', '?_summary=true', '?_elements=code'].map(
      (query) => get(`/Patient/ann/$everything${query}`),
    ),
    post('/Patient/ann/$everything', { resourceType: 'Parameters', parameter: [{ name: '_count', valueInteger: 2 }] }),
    invalid(403, 'GET', '/Patient/$everything'),
    ...['/$meta', '/Patient/$meta', '/Patient/ann/$meta', '/Slot/$meta', '/Observation/o1/$meta'].map((path) => get(path)),
    post('/Patient/$validate', ANN),
    post('/Patient/$validate', { resourceType: 'Patient', id: 'x', gender: 'no', birthDate: '12', foo: 1, name: [{}] }),
    post('/Patient/$validate?profile=http://hl7.org/fhir/StructureDefinition/Patient', ANN),
    invalid(422, 'POST', '/Patient/$validate?profile=http://example.org/none', ANN),
    get('/Patient/ann/$validate'),
    get('/Patient/ann/$validate?mode=delete'),
    post('/Observation/$validate?profile=http://hl7.org/fhir/StructureDefinition/vitalsigns', numberedObservation(1)),
    get('/DocumentReference/$docref?patient=ann'),
    get('/DocumentReference/$docref?patient=ann&start=2023-01-01'),
    get('/DocumentReference/$docref?patient=nobody'),
    ...[
      'name.family',
      'name',
      "name.family = 'Bell'",
      '1 | 2.50',
      'today()',
      'contained',
      'meta.tag',
      'birthDate',
      '{}',
      "gender | 1.5 'mg'",
    ].map((valueString) =>
      post('/$apply-fhirpath', {
        resourceType: 'Parameters',
        parameter: [
          { name: 'fhirPath', valueString },
          { name: 'resource', resource: ANN },
        ],
      }),
    ),
    get('/$reindex-status'),
  ],
}

const patched = (status: number, body: unknown, type = 'application/json-patch+json'): Request =>
  invalid(status, 'PATCH', '/Patient/ann', body, { 'content-type': type })

const REFUSED: Kind = {
  kind: 'OperationOutcome',
  requests: [
    invalid(404, 'GET', '/Patient/nobody'),
    invalid(404, 'GET', '/Observation/gone'),
    invalid(410, 'GET', '/Observation/gone/_history/2'),
    invalid(404, 'GET', '/Nothing/1'),
    invalid(405, 'PUT', '/metadata', ANN),
    invalid(406, 'GET', '/Patient/ann', undefined, { accept: 'application/fhir+xml' }),
    invalid(415, 'POST', '/Patient', '<Patient/>', { 'content-type': 'application/fhir+xml' }),
    invalid(400, 'POST', '/Patient', '{"resourceType":'),
    invalid(400, 'POST', '/Patient', patient('', { id: undefined })),
    invalid(409, 'POST', '/Patient', ANN),
    invalid(400, 'PUT', '/Patient/other', ANN),
    invalid(412, 'PUT', '/Patient/ann', ANN, { 'if-match': 'W/"99"' }),
    invalid(400, 'PUT', '/Patient/ann', ANN, { 'if-match': 'x y' }),
    invalid(412, 'DELETE', '/Observation?patient=ann'),
    invalid(400, 'DELETE', '/Observation'),
    invalid(400, 'PUT', '/Patient/bad', {
      ...{ resourceType: 'Patient', id: 'bad', gender: 'x', birthDate: '1', active: 'yes', name: [{ use: 'x', family: 1 }], foo: {} },
      ...{ contact: [{}], link: [{ type: 'x' }], telecom: [{ value: '' }], deceasedBoolean: true, deceasedDateTime: '2020' },
    }),
    invalid(400, 'GET', '/Patient?birthdate=x&_count=y'),
    invalid(400, 'GET', '/Patient?foo=1&bar=2', undefined, { prefer: 'handling=strict' }),
    invalid(400, 'GET', '/Patient?gender:below=x'),
    invalid(400, 'GET', '/Patient?_cursor=nothing'),
    invalid(400, 'GET', '/Patient?_sort=nothing'),
    patched(422, [{ op: 'test', path: '/gender', value: 'male' }]),
    patched(400, [{ op: 'nothing' }]),
    patched(422, [{ op: 'add', path: '/gender', value: 'x' }]),
    invalid(422, 'POST', '/$apply-fhirpath', {
      resourceType: 'Parameters',
      parameter: [
        { name: 'fhirPath', valueString: 'name.(' },
        { name: 'resource', resource: ANN },
      ],
    }),
    invalid(400, 'GET', '/$export'),
    invalid(404, 'GET', '/export/nothing'),
    invalid(422, 'PUT', '/SearchParameter/bad', {
      ...OWN_PARAMETER,
      id: 'bad',
      url: 'http://example.org/bad',
      code: 'bad',
      expression: '((',
    }),
    {
      ...{ method: 'PUT', path: '/Patient/long', status: 201, body: patient('long', { text: NARRATIVE, family: 'x'.repeat(8_001) }) },
    },
    ...['OperationOutcome', 'representation'].map((name) => ({
      ...{ method: 'PUT', path: `/Patient/told-${name}`, status: 201, body: patient(`told-${name}`, { text: NARRATIVE }) },
      headers: { prefer: `return=${name}` },
    })),
  ],
}

const READS: Kind = {
  kind: 'a resource',
  requests: [
    get('/Patient/ann'),
    get('/Observation/o0/_history/1'),
    get('/Binary/b1', { accept: 'application/fhir+json' }),
    get('/Binary/b1?_summary=true', { accept: 'application/fhir+json' }),
    ...SUMMARIES.filter((mode) => mode !== 'count').map((mode) => get(`/Patient/ann?_summary=${mode}`)),
    ...['name', 'id', 'contained', 'generalPractitioner', 'Patient.name,Patient.text', 'birthDate,gender'].map((names) =>
      get(`/Patient/ann?_elements=${names}`),
    ),
    ...['value', 'status', 'component.code', 'effective'].map((names) => get(`/Observation/o1?_elements=${names}`)),
  ],
}

/** Each type once in each mode. */
const PARTS: Kind = {
  kind: '_summary and _elements',
  requests: seedTypes().flatMap((type) => [
    ...SUMMARIES.filter((mode) => mode !== 'false').map((mode) => get(`/${type}?_summary=${mode}&_count=3`)),
    get(`/${type}?_elements=id&_count=3`),
  ]),
}

export const KINDS: readonly Kind[] = [
  ...[METADATA, SEARCHSETS, GROUPS, EXPLAINED, HISTORY, BUNDLES],
  ...[OPERATIONS, REFUSED, READS, PARTS],
]
