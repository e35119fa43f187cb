/** Versions that an export contains, rule by rule. */
import { describe, expect, it } from '@jest/globals'
import { type Access, accessOf, WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import type { ExportLevel } from '../../../lambdas/export/export-request.ts'
import { exportTypesOf } from '../../../lambdas/export/plan/exported-types.ts'
import { type Selection, selectVersions } from '../../../lambdas/export/select/selection.ts'
import { compartmentsOf } from '../../../lambdas/fhir/compartment.ts'
import type { ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { jobOf, TEST_SEARCH_CONTEXT } from '../../fixtures/exporting.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { observation, patient, type Tree } from '../../fixtures/resources.ts'
import { deletionOf, instantAt, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const versionAt = (when: number, body: Tree): ResourceVersion =>
  versionOf(
    writeOf(resourceKeyOf('t', body.resourceType, body.id), { body, lastUpdated: instantAt(when), compartments: compartmentsOf(body) }),
  )
const deletionAt = (when: number, { type, id, compartments }: ResourceVersion): ResourceVersion =>
  versionOf(deletionOf(resourceKeyOf('t', type, id), { expected: 1, lastUpdated: instantAt(when), compartments }))

const A = versionAt(1, patient('a'))
const B = versionAt(3, patient('b'))
const OF_A = versionAt(2, observation('of-a', { subject: 'Patient/a', code: 'x' }))
const OF_B = versionAt(4, observation('of-b', { subject: 'Patient/b', code: 'y' }))
const OF_NOBODY = versionAt(2, observation('of-nobody'))
const DEVICE = versionAt(2, { resourceType: 'Device', id: 'd', patient: { reference: `${TEST_SEARCH_CONTEXT.baseUrl}/Patient/a` } })
const SETTINGS = { groupTypes: ['Patient', 'Observation', 'Device'], additionalResources: {} }
const ALL = [A, B, OF_A, OF_B, OF_NOBODY, DEVICE]

type Asked = {
  readonly level?: ExportLevel
  readonly patients?: readonly string[]
  readonly added?: readonly string[]
  readonly filters?: Selection['jobScope']['filters']
  readonly access?: Access
  readonly asked?: { readonly since?: number; readonly until?: number; readonly types?: readonly string[] }
}

async function exported(of: Asked, versions: readonly ResourceVersion[] = ALL, before = ALL): Promise<readonly string[]> {
  const access = of.access ?? WHOLE_ACCESS
  const job = jobOf(5, { level: of.level ?? 'system', access, ...(of.asked === undefined ? {} : { asked: of.asked }) })
  const selection: Selection = {
    job,
    types: new Set(exportTypesOf(job, SETTINGS).types),
    jobScope: {
      ...(of.patients === undefined ? {} : { patients: new Set(of.patients) }),
      ...{ added: new Set(of.added), filters: of.filters ?? new Map(), told: [], isLookedUp: false },
    },
    judge: { access, reading: TEST_SEARCH_CONTEXT, expressions: () => EXPRESSIONS, current: async () => undefined },
    ownership: {
      bases: TEST_SEARCH_CONTEXT,
      levelTypes: new Set(SETTINGS.groupTypes),
      before: async ({ id }) => before.find((version) => version.id === id),
      asOf: async () => [],
    },
  }
  return (await selectVersions(selection, versions, nobody)).map(({ id, deleted }) => (deleted ? `-${id}` : id))
}

const nobody = (): never => {
  throw new Error('left out')
}

const accessBy = (...scopes: readonly string[]): Access =>
  accessOf({ scopes, isIdentified: true, isClientToken: true, patientScopesWithoutContext: 'all' })

describe('An export', () => {
  it('holds everything at system level', async () => expect(await exported({})).toEqual(['a', 'b', 'of-a', 'of-b', 'of-nobody', 'd']))

  it('holds the data of all patients at patient level', async () =>
    expect(await exported({ level: 'patient' })).toEqual(['a', 'b', 'of-a', 'of-b', 'd']))

  it('holds members and their data at group level', async () => {
    expect(await exported({ level: 'group', patients: ['Patient/a'] })).toEqual(['a', 'of-a', 'd'])
    expect(await exported({ level: 'group', patients: ['Patient/b'] })).toEqual(['b', 'of-b'])
    expect(await exported({ level: 'group', patients: [] })).toEqual([])
  })

  it('omits other Patients that are linked to a member', async () => {
    const linked = versionAt(1, patient('c', { link: [{ other: { reference: 'Patient/a' }, type: 'seealso' }] }))
    expect(linked.compartments).toContain('Patient/a')
    expect(await exported({ level: 'group', patients: ['Patient/a'] }, [linked])).toEqual([])
  })

  it('holds only the requested types', async () =>
    expect(await exported({ asked: { types: ['Device', 'Patient'] } })).toEqual(['a', 'b', 'd']))

  it('holds versions written after _since and before _until', async () => {
    expect(await exported({ asked: { since: instantAt(2) } })).toEqual(['b', 'of-b'])
    expect(await exported({ asked: { until: instantAt(2) } })).toEqual(['a'])
    expect(await exported({ asked: { since: instantAt(1), until: instantAt(4) } })).toEqual(['b', 'of-a', 'of-nobody', 'd'])
    expect(await exported({}, [versionAt(6, patient('late'))])).toEqual([])
  })

  it('holds all data of members added after _since', async () =>
    expect(
      await exported({ level: 'group', patients: ['Patient/a', 'Patient/b'], added: ['Patient/a'], asked: { since: instantAt(3) } }),
    ).toEqual([...['a', 'of-a', 'of-b', 'd']]))

  it('holds deletions after _since by compartment and type, regardless of filters', async () => {
    const gone = [A, OF_A, OF_B, OF_NOBODY, DEVICE].map((version) => deletionAt(4, version))
    const never = { kind: 'some', of: [] } as const
    expect(await exported({}, gone)).toEqual([])
    expect(await exported({ asked: { since: instantAt(4) } }, gone)).toEqual([])
    const since = instantAt(3)
    expect(await exported({ asked: { since } }, gone)).toEqual(['-a', '-of-a', '-of-b', '-of-nobody', '-d'])
    expect(await exported({ level: 'patient', asked: { since } }, gone)).toEqual(['-a', '-of-a', '-of-b', '-d'])
    expect(await exported({ level: 'group', patients: ['Patient/a'], asked: { since } }, gone)).toEqual(['-a', '-of-a', '-d'])
    expect(await exported({ asked: { since, types: ['Device'] } }, gone)).toEqual(['-d'])
    expect(await exported({ asked: { since }, filters: new Map([['Observation', never]]) }, gone)).toContain('-of-a')
    expect(await exported({ asked: { since }, access: accessBy('system/Patient.rs') }, gone)).toEqual(['-a'])
  })

  it('holds a deletion only if the client could see the deleted resource', async () => {
    const context = { securityContext: { reference: 'Observation/of-b' }, contentType: 'text/plain' }
    const binary = versionAt(2, { resourceType: 'Binary', id: 'binary', ...context })
    const all = [OF_A, OF_B, binary]
    const gone = all.map((version) => deletionAt(4, version))
    const told = (...scopes: readonly string[]) => exported({ asked: { since: instantAt(3) }, access: accessBy(...scopes) }, gone, all)
    expect(await told('system/Observation.rs?code=x')).toEqual(['-of-a'])
    expect(await told('system/Observation.rs')).toEqual(['-of-a', '-of-b'])
    expect(await told('system/Binary.rs')).toEqual([])
    expect(await told('system/*.rs')).toEqual(['-of-a', '-of-b', '-binary'])
  })

  it('applies filters only to resources of their type', async () => {
    const coded = { kind: 'key', field: 'code:code', oneOf: ['x'] } as const
    const held = await exported({ filters: new Map([['Observation', coded]]) })
    expect(held).toEqual(['a', 'b', 'of-a', 'd'])
  })

  it('holds only resources the client may both read and search', async () => {
    expect(await exported({ access: accessBy('system/Observation.rs') })).toEqual(['of-a', 'of-b', 'of-nobody'])
    expect(await exported({ access: accessBy('system/Observation.r', 'system/Patient.s') })).toEqual([])
    expect(await exported({ access: accessBy('system/Observation.rs?code=x') })).toEqual(['of-a'])
    expect(await exported({ access: accessBy('system/*.rs') })).toHaveLength(ALL.length)
  })
})

describe('The types of an export', () => {
  it('are those of its level; omitted requested types are reported', () => {
    const of = (level: ExportLevel, types?: readonly string[], access = WHOLE_ACCESS) =>
      exportTypesOf(jobOf(5, { level, access, ...(types === undefined ? {} : { asked: { types } }) }), {
        ...SETTINGS,
        groupTypes: ['Patient', 'Device'],
      })
    expect(of('group')).toMatchObject({ types: ['Patient', 'Device'], messages: [] })
    expect(of('patient').types).toEqual(expect.arrayContaining(['Patient', 'Observation', 'Device']))
    expect(of('patient').types).not.toContain('Organization')
    expect(of('system').types).toContain('Organization')
    expect(of('patient', ['Organization', 'Patient'])).toMatchObject({
      types: ['Patient'],
      messages: [expect.stringContaining('Organization')],
    })
    expect(of('system', ['Patient', 'Device'], accessBy('system/Device.rs'))).toMatchObject({
      types: ['Device'],
      messages: ['_type names Patient, which is out of scope'],
    })
    for (const letter of ['r', 's'])
      expect(of('system', ['Patient'], accessBy(`system/Patient.${letter}`))).toMatchObject({
        types: [],
        messages: ['_type names Patient, which is out of scope'],
      })
  })

  it('leave Group out of exports of single patients', () => {
    const of = (level: ExportLevel, fields: object = {}, types?: readonly string[]) =>
      exportTypesOf(jobOf(5, { level, ...fields, ...(types === undefined ? {} : { asked: { types } }) }), {
        ...SETTINGS,
        groupTypes: ['all'],
      })
    for (const { types, levelTypes } of [of('group'), of('patient', { patients: 1 })])
      expect([types, levelTypes].map((each) => each.includes('Group'))).toEqual([false, false])
    expect(of('patient').types).toContain('Group')
    expect(of('group', {}, ['Group', 'Patient'])).toMatchObject({
      types: ['Patient'],
      messages: [expect.stringContaining('its members are other people')],
    })
  })

  it('list those that a setting omits, if in scope and no types were requested', () => {
    const of = (groupTypes: readonly string[], fields: Parameters<typeof jobOf>[1] = {}) =>
      exportTypesOf(jobOf(5, { level: 'group', ...fields }), { ...SETTINGS, groupTypes }).omittedTypes
    expect(of(['Patient'])).toEqual(expect.arrayContaining(['Claim', 'Coverage', 'Device', 'Observation']))
    expect(of(['Patient'])).not.toContain('Group')
    expect(of(['Patient'], { access: accessBy('system/Claim.rs', 'system/Device.r') })).toEqual(['Claim'])
    expect([of(['all']), of(['Patient'], { asked: { types: ['Patient'] } }), of(['Patient'], { level: 'patient' })]).toEqual([[], [], []])
  })
})
