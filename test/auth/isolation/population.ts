/** What two tenants keep: the same ids, other contents. Each version has a mark that nothing else has, so that it is known wherever it appears. */

import { BASE_URL, type CallerRequest, operatorOf } from '../site.ts'
import { type FindResource, type Json, type OracleVersion, patientsOf, type StoredResource } from './oracle.ts'

export const TENANTS = ['north', 'south'] as const

export const markOf = (tenant: string, type: string, id: string, version: number): string => `MARK-${tenant}-${type}-${id}-v${version}`
export const MARK = /MARK-[a-z]+-[A-Za-z]+-[\w.-]+-v\d+/g
/** As ids of the population are written. */
export const ID = /[\w-]+\.id\b/g

const to = (reference: string) => ({ reference })
const [A, B] = [to('Patient/a.id'), to('Patient/b.id')]
const coded = (code: string) => ({ coding: [{ system: 'urn:codes', code }] })
export const observation = (category: string, more: Json): Json => ({
  ...{ resourceType: 'Observation', status: 'final', code: coded('weight'), category: [coded(category)] },
  ...more,
})
const patient = (family: string, more: Json = {}): Json => ({ resourceType: 'Patient', name: [{ family }], ...more })
const condition = (subject: Json): Json => ({ resourceType: 'Condition', subject })
const group = (...members: readonly Json[]): Json => ({
  resourceType: 'Group',
  type: 'person',
  actual: true,
  member: members.map((entity) => ({ entity })),
})
const document = (subject: Json): Json => ({
  ...{ resourceType: 'DocumentReference', status: 'current', subject, type: coded('note') },
  content: [{ attachment: { url: 'urn:x' } }],
})
const binary = (context?: string): Json => ({
  ...{ resourceType: 'Binary', contentType: 'text/plain', data: 'dGV4dA==' },
  ...(context === undefined ? {} : { securityContext: to(context) }),
})

/** By id, the versions; null: a deletion. Ids as `ID` has them. */
const RESOURCES: Readonly<Record<string, readonly (Json | null)[]>> = {
  'a.id': [patient('Abel', { generalPractitioner: [to('Practitioner/p.id')], managingOrganization: to('Organization/o.id') })],
  'b.id': [patient('Baker'), patient('Baker', { managingOrganization: to('Organization/o.id') })],
  'linked.id': [patient('Linked', { link: [{ other: A, type: 'seealso' }] })],
  'gone.id': [patient('Gone'), null],
  'p.id': [{ resourceType: 'Practitioner', name: [{ family: 'Doctor' }] }],
  'o.id': [{ resourceType: 'Organization', name: 'Clinic' }],
  'm.id': [{ resourceType: 'Medication', code: coded('aspirin') }],
  'g-both.id': [group(A, B)],
  'g-own.id': [group(A)],
  'own-lab.id': [observation('laboratory', { subject: A, encounter: to('Encounter/e-own.id') })],
  'own-vital.id': [observation('vital-signs', { subject: A }), observation('vital-signs', { subject: A, status: 'amended' })],
  'own-versioned.id': [observation('laboratory', { subject: to('Patient/a.id/_history/1') })],
  'other-lab.id': [observation('laboratory', { subject: B, encounter: to('Encounter/e-other.id') })],
  'other-vital.id': [observation('vital-signs', { subject: B, hasMember: [to('Observation/other-lab.id')] })],
  'other-absolute.id': [observation('laboratory', { subject: to(`${BASE_URL}/Patient/b.id`) })],
  'own-absolute.id': [observation('laboratory', { subject: to(`${BASE_URL}/Patient/a.id`) })],
  'both.id': [observation('laboratory', { subject: A, performer: [B] })],
  'both-absolute.id': [observation('laboratory', { subject: A, performer: [to(`${BASE_URL}/Patient/b.id`)] })],
  'nobody.id': [observation('laboratory', { subject: to('Group/g-both.id') })],
  'moved-away.id': [observation('laboratory', { subject: A }), observation('laboratory', { subject: B })],
  'moved-here.id': [observation('laboratory', { subject: B }), observation('laboratory', { subject: A })],
  'to-and-fro.id': [
    observation('laboratory', { subject: A }),
    observation('laboratory', { subject: B }),
    observation('laboratory', { subject: A }),
    null,
  ],
  'own-deleted.id': [observation('laboratory', { subject: A }), null],
  'other-deleted.id': [observation('laboratory', { subject: B }), null],
  'member.id': [observation('vital-signs', { subject: A, hasMember: [to('Observation/other-lab.id'), to('Observation/own-lab.id')] })],
  'c-own.id': [condition(A)],
  'c-other.id': [condition(B)],
  'e-own.id': [{ resourceType: 'Encounter', status: 'finished', class: { code: 'AMB' }, subject: A }],
  'e-other.id': [{ resourceType: 'Encounter', status: 'finished', class: { code: 'AMB' }, subject: B }],
  'r-own.id': [{ resourceType: 'RelatedPerson', patient: A }],
  'r-other.id': [{ resourceType: 'RelatedPerson', patient: B }],
  'd-own.id': [{ resourceType: 'Device', patient: A }],
  'd-other.id': [{ resourceType: 'Device', patient: B }],
  'd-nobody.id': [{ resourceType: 'Device' }],
  'd-deleted.id': [{ resourceType: 'Device', patient: A }, null],
  'doc-own.id': [document(A)],
  'doc-own-again.id': [document(A), document(A)],
  'doc-other.id': [document(B)],
  'doc-moved.id': [document(A), document(B)],
  'q.id': [{ resourceType: 'Questionnaire', status: 'active' }],
  'x-own.id': [binary('Patient/a.id')],
  'x-other.id': [binary('Patient/b.id')],
  'x-nobody.id': [binary()],
  'x-observation.id': [binary('Observation/other-lab.id')],
  'x-moved.id': [binary('Patient/a.id'), binary('Patient/b.id')],
  'x-astray.id': [binary('Patient/nowhere.id')],
}

/** As a version is sent, with its mark. */
export function withMark(tenant: string, id: string, version: number, json: Json): Json {
  const code = markOf(tenant, json.resourceType, id, version)
  return {
    ...json,
    id,
    meta: {
      tag: [
        { system: 'urn:marks', code },
        { system: 'urn:marks', code: `${version % 2 === 0 ? 'even' : 'odd'}` },
      ],
    },
  }
}

export class Population {
  readonly kept = new Map<string, StoredResource>()
  readonly ids = new Set<string>()

  readonly find: FindResource = (tenant, name) => this.kept.get(`${tenant} ${name}`)

  readonly all = (tenant: string): readonly StoredResource[] => [...this.kept.values()].filter((each) => each.tenant === tenant)

  /** `json`: undefined for a deletion. */
  add(tenant: string, type: string, id: string, json: Json | undefined): void {
    const name = `${tenant} ${type}/${id}`
    const kept = this.kept.get(name) ?? { tenant, type, id, versions: [] }
    const version: OracleVersion = json === undefined ? { about: kept.versions.at(-1)!.about } : { json, about: patientsOf(json, BASE_URL) }
    kept.versions.push(version)
    this.ids.add(id)
    this.kept.set(name, kept)
  }

  /** Of a mark, where the version is. */
  versionOf(mark: string): { readonly kept: StoredResource; readonly version: OracleVersion } | undefined {
    const [, tenant = '', type = '', id = '', at = ''] = /^MARK-([a-z]+)-([A-Za-z]+)-(.+)-v(\d+)$/.exec(mark) ?? []
    const kept = this.find(tenant, `${type}/${id}`)
    const version = kept?.versions[Number(at) - 1]
    return kept === undefined || version === undefined ? undefined : { kept, version }
  }
}

/** One version of the population. `json`: undefined for a deletion. */
export type Step = { readonly tenant: string; readonly type: string; readonly id: string; readonly json: Json | undefined }

export const STEPS: readonly Step[] = TENANTS.flatMap((tenant) =>
  Object.entries(RESOURCES).flatMap(([id, versions]) =>
    versions.map((json, at): Step => {
      const type = versions[0].resourceType
      return { tenant, type, id, json: json === null ? undefined : withMark(tenant, id, at + 1, json) }
    }),
  ),
)

/** As the operator of the tenant. */
export async function applyStep(ask: CallerRequest, { tenant, type, id, json }: Step): Promise<void> {
  const answer = await ask(
    operatorOf(tenant),
    json === undefined ? 'DELETE' : 'PUT',
    `/${type}/${id}`,
    json === undefined ? {} : { body: json },
  )
  if (answer.status >= 300) throw new Error(`${type}/${id}: ${answer.text}`)
}

/** All that there is to be. */
export function createPopulation(): Population {
  const made = new Population()
  for (const { tenant, type, id, json } of STEPS) made.add(tenant, type, id, json)
  return made
}

/** Writes it all. */
export async function populate(ask: CallerRequest): Promise<Population> {
  for (const step of STEPS) await applyStep(ask, step)
  return createPopulation()
}
