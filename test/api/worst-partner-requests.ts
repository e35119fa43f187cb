/** The most expensive requests that we know of a partner, and of the payer that stores its members. */
import { OPT_OUT_GROUP } from '../../lambdas/partners/codes.ts'
import { memberOf, patientIdOf, sentMemberOf } from '../bench/payer/members.ts'
import type { Tree } from '../fixtures/resources.ts'
import type { WorstRequest } from './worst-request.ts'

const HEADERS = { 'content-type': 'application/fhir+json' }
const ASYNC = { ...HEADERS, prefer: 'respond-async', accept: 'application/fhir+json' }
const MATCH = '/Patient/$member-match'
const BULK_MATCH = '/Group/$bulk-member-match'
const EXPORT_TYPES = ['payertopayer', 'provider-download']

/** Sets the resources of the parts of a member, by their order: Patient, Coverage and Consent. */
const changed = (parts: readonly Tree[], ...fields: readonly object[]): readonly Tree[] =>
  parts.map(({ name, resource }, i) => ({ name, resource: { ...resource, ...fields[i] } }))

const nestedExtension = (levels: number): Tree => ({
  url: 'http://example.org/e',
  ...(levels === 0 ? { valueString: 'x' } : { extension: [nestedExtension(levels - 1)] }),
})

/** `scaled`: returns a count of this size of the requests. */
export function* worstPartnerRequests(scaled: (count: number) => number): Generator<WorstRequest> {
  const numbers = (count: number): readonly number[] => Array.from({ length: scaled(count) }, (_, i) => i)
  const post = (name: string, path: string, body: object, headers = HEADERS): WorstRequest => ({
    ...{ name: `partner: ${name}`, method: 'POST', path, headers },
    body: JSON.stringify(body),
  })
  const match = (name: string, parameter: readonly Tree[]) => post(name, MATCH, { resourceType: 'Parameters', parameter })
  const bulk = (name: string, members: readonly (readonly Tree[])[]) =>
    post(name, BULK_MATCH, { resourceType: 'Parameters', parameter: members.map((part) => ({ name: 'MemberBundle', part })) }, ASYNC)
  const transaction = (name: string, resources: readonly Tree[]) =>
    post(name, '/', {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: resources.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } })),
    })
  const group = (name: string, id: string, count: number, fields: object = {}): WorstRequest => ({
    ...post(name, `/Group/${id}`, {
      ...{ resourceType: 'Group', id, type: 'person', actual: true, ...fields },
      member: numbers(count).map((i) => ({ entity: { reference: `Patient/${patientIdOf(i)}` } })),
    }),
    method: 'PUT',
  })

  yield transaction('2,000 stored members', numbers(2_000).flatMap(memberOf))
  yield bulk(
    'a match of 2,000 members, 16 MB',
    numbers(2_000).map((i) =>
      changed(sentMemberOf(i), {
        text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${'x'.repeat(5_900)}</div>` },
      }),
    ),
  )
  yield bulk('the same match again, without texts', numbers(2_000).map(sentMemberOf))
  const contained = (i: number, levels: number): Tree => ({
    ...{ resourceType: 'Organization', id: `o${i}`, name: 'x', extension: [nestedExtension(levels)] },
  })
  const referring = (count: number, levels: number): object => ({
    contained: numbers(count).map((i) => contained(i, levels)),
    generalPractitioner: numbers(count).map((i) => ({ reference: `#o${i}` })),
  })
  yield bulk('a match of a person with 2,000 contained resources of 64 levels', [changed(sentMemberOf(0), referring(2_000, 24))])
  yield bulk(
    'a match of 2,000 persons with a contained resource of 64 levels',
    numbers(2_000).map((i) => changed(sentMemberOf(i), { contained: [contained(0, 24)], generalPractitioner: [{ reference: '#o0' }] })),
  )
  yield match(
    'a person with 10,000 names',
    changed(sentMemberOf(0), { name: numbers(10_000).map((i) => ({ family: `Family ${i}`, given: [`Given ${i}`, 'x'] })) }),
  )
  yield match(
    'a person with 10,000 numbers',
    changed(sentMemberOf(0), {}, { identifier: numbers(10_000).map((i) => ({ system: 'http://example.org/cards', value: `C${i}` })) }),
  )
  const [, card] = memberOf(0)
  yield transaction(
    '50 members with one card',
    numbers(50).map((i) => ({ ...memberOf(i)[1], identifier: card.identifier })),
  )
  yield match('a card with 50 candidates', sentMemberOf(0))
  yield group('a stored opt-out Group of 200,000 members', 'opt-out', 200_000, { meta: { profile: [OPT_OUT_GROUP] } })
  yield match('a member of that Group', sentMemberOf(0))
  yield bulk('a match of 2,000 members of that Group', numbers(2_000).map(sentMemberOf))
  yield group('a stored Group of 2,000 members', 'exported', 2_000)
  for (const type of EXPORT_TYPES)
    yield {
      ...{ name: `partner: an export of 2,000 members of that Group, ${type}`, method: 'GET', headers: ASYNC },
      path: `/Group/exported/$davinci-data-export?exportType=hl7.fhir.us.davinci-pdex%23${type}`,
    }
}
