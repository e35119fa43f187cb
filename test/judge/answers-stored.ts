/** What stands in the server whose answers are judged. */
import type { TestClient } from '../api/server.ts'
import { codeableConceptOf, observation, patient, type Tree } from '../fixtures/resources.ts'
import { read } from './cases.ts'

export const SYSTEM = 'http://example.org/codes'
export const NARRATIVE = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">A text</div>' }
const LABELS = {
  profile: ['http://hl7.org/fhir/StructureDefinition/Patient'],
  tag: [{ system: SYSTEM, code: 'tag', display: 'A tag' }],
  security: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality', code: 'N' }],
}

export const ANN = patient('ann', {
  meta: LABELS,
  text: NARRATIVE,
  family: 'Bell',
  ...{ birthDate: '1980-05-01', gender: 'female', generalPractitioner: [{ reference: '#doctor' }] },
  contained: [{ resourceType: 'Practitioner', id: 'doctor', name: [{ family: 'Ward' }] }],
  identifier: [{ system: 'http://example.org/mrn', value: '1' }],
})

export const numberedObservation = (i: number): Tree =>
  observation(`o${i}`, {
    text: NARRATIVE,
    ...{ code: codeableConceptOf(`c${i % 3}`, SYSTEM), subject: 'Patient/ann', date: `2024-01-${10 + i}` },
    valueQuantity: { value: i, unit: 'mg', system: 'http://unitsofmeasure.org', code: 'mg' },
  })

const DOCUMENT: Tree = {
  ...{ resourceType: 'DocumentReference', id: 'd1', status: 'current', date: '2024-01-01T00:00:00Z', text: NARRATIVE },
  type: codeableConceptOf('34133-9', 'http://loinc.org'),
  subject: { reference: 'Patient/ann' },
  content: [{ attachment: { contentType: 'application/pdf', url: 'Binary/b1' } }],
}

const BINARY: Tree = {
  resourceType: 'Binary',
  id: 'b1',
  contentType: 'text/plain',
  data: 'aGVsbG8=',
  securityContext: { reference: 'Patient/ann' },
}

export const OWN_PARAMETER: Tree = {
  ...{ resourceType: 'SearchParameter', id: 'nickname', url: 'http://example.org/SearchParameter/nickname', name: 'Nickname' },
  ...{ status: 'active', description: 'A nickname', code: 'nickname', base: ['Patient'], type: 'string', text: NARRATIVE },
  expression: "Patient.name.where(use = 'nickname').given",
}

export const entry = (resource: Tree, method = 'PUT'): Tree => ({
  resource,
  request: { method, url: `${resource.resourceType}/${resource.id}` },
})

export const bundle = (type: string, ...entries: readonly Tree[]): Tree => ({ resourceType: 'Bundle', type, entry: entries })

/** What stands in the server: the seeds, which the judge finds right, and a patient with what there is to page, to group and to include. */
export async function fillServer(client: TestClient): Promise<void> {
  const seeds = [...read('base').seeds.values()]
  const own = [ANN, ...Array.from({ length: 12 }, (_, i) => numberedObservation(i)), DOCUMENT, BINARY]
  const { status, text } = await client.post('/', bundle('transaction', ...[...seeds, ...own].map((each) => entry(each))))
  if (status !== 200) throw new Error(text)
  await client.put('/SearchParameter/nickname', OWN_PARAMETER)
  await client.put('/Observation/o0', { ...numberedObservation(0), status: 'amended' })
  await client.patch('/Observation/o0', [{ op: 'replace', path: '/status', value: 'corrected' }])
  await client.put('/Observation/gone', { ...numberedObservation(0), id: 'gone' })
  await client.delete('/Observation/gone')
}
