/** Resources that an export for a partner leaves out: old ones, prior authorizations, sensitive ones. */
import { describe, expect, it } from '@jest/globals'
import { isAllowed, type PartnerRules } from '../../lambdas/partners/partner-rules.ts'
import { codeableConceptOf, type Tree } from '../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

const NOW = Date.parse('2026-06-15T12:00:00Z')
const LABEL = { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'SUD' }
const RULES: PartnerRules = {
  ...{ view: 'payer', now: NOW, windowStart: Date.parse('2021-06-15T12:00:00Z') },
  ...{ excluded: new Set([`${LABEL.system}|${LABEL.code}`]) },
}

const allows = async (body: Tree, rules: Partial<PartnerRules> = {}, written = '2015-01-01', permits = false): Promise<boolean> => {
  const resource = { id: '1', ...body }
  const version = versionOf(writeOf(resourceKeyOf('t', resource.resourceType, '1'), { body: resource, lastUpdated: Date.parse(written) }))
  return isAllowed({ ...RULES, ...rules }, version, () => permits)
}

const claim = (fields: Tree): Tree => ({ resourceType: 'ExplanationOfBenefit', use: 'claim', created: '2010-01-01', ...fields })

describe('the window of an export', () => {
  it.each<[what: string, resource: Tree, isIn: boolean]>([
    ['an observation before it', { resourceType: 'Observation', effectiveDateTime: '2021-06-14' }, false],
    ['an observation of its first day', { resourceType: 'Observation', effectiveDateTime: '2021-06-15' }, true],
    ['an observation in a period that ended before it', { resourceType: 'Observation', effectivePeriod: { end: '2021-06-01' } }, false],
    ['an encounter that goes on', { resourceType: 'Encounter', period: { start: '2010-01-01' } }, true],
    ['a month that overlaps it', { resourceType: 'Condition', onsetDateTime: '2021-06' }, true],
    ['an instant before it, of a zone', { resourceType: 'Observation', effectiveInstant: '2021-06-15T13:59:59+02:00' }, false],
    ['an instant in it, of a zone', { resourceType: 'Observation', effectiveInstant: '2021-06-15T14:00:00+02:00' }, true],
    ['a year that overlaps it', { resourceType: 'Condition', onsetDateTime: '2021' }, true],
    ['a year after its first', { resourceType: 'Condition', onsetDateTime: '2022' }, true],
    ['a date before it beside later ones', { resourceType: 'Condition', onsetDateTime: '2020-01-01', recordedDate: '2022-01-01' }, false],
    ['a date in it beside earlier ones', { resourceType: 'Condition', onsetDateTime: '2022-01-01', recordedDate: '2020-01-01' }, true],
    ['a year before it', { resourceType: 'Condition', onsetDateTime: '2020' }, false],
    ['events of which one is in it', { resourceType: 'Observation', effectiveTiming: { event: ['2010-01-01', '2022-01-01'] } }, true],
    ['a resource without a date', { resourceType: 'Observation' }, true],
    ['a resource with an unreadable date', { resourceType: 'Observation', effectiveDateTime: 'x' }, true],
    ['a type without a date', { resourceType: 'Coverage', period: { end: '2000-01-01' } }, true],
    ['a claim billed before it', claim({ billablePeriod: { start: '2019-01-01', end: '2019-02-01' } }), false],
    ['a claim billed in it', claim({ billablePeriod: { start: '2019-01-01', end: '2022-02-01' } }), true],
    ['a claim billed in a period that goes on', claim({ billablePeriod: { start: '2010-01-01' } }), true],
    ['a claim with a service in it', claim({ item: [{ servicedDate: '2019-01-01' }, { servicedPeriod: { end: '2022-01-01' } }] }), true],
    ['a claim with services before it', claim({ item: [{ servicedDate: '2019-01-01' }] }), false],
    ['a claim with a code that looks like a year', claim({ created: '2022', type: { coding: [{ code: '0301' }] } }), true],
    ['a claim without services', claim({}), true],
  ])('decides %s', async (_, resource, isIn) => {
    expect(await allows(resource)).toBe(isIn)
    const { windowStart: _window, ...open } = RULES
    expect(await isAllowed(open, versionOf(writeOf(resourceKeyOf('t', resource.resourceType, '1'), { body: resource })), () => false)).toBe(
      true,
    )
  })

  it('decides dates that are written with escapes', async () => {
    const text = '{"resourceType":"Observation","id":"1","effectiveDateTime":"\\u0032020-01-01"}'
    const version = { ...versionOf(writeOf(resourceKeyOf('t', 'Observation', '1'))), body: Buffer.from(text) }
    expect(await isAllowed(RULES, version, () => false)).toBe(false)
  })
})

const PDEX = 'http://hl7.org/fhir/us/davinci-pdex/StructureDefinition'
const action = (code: string): Tree => ({
  url: `${PDEX}/extension-reviewAction`,
  extension: [
    { url: `${PDEX}/extension-reviewActionCode`, valueCodeableConcept: codeableConceptOf(code, 'https://codesystem.x12.org/005010/306') },
  ],
})
const authorization = (fields: Tree = {}, ...actions: readonly string[]): Tree => ({
  ...claim({
    use: 'preauthorization',
    outcome: 'complete',
    item: [{ adjudication: actions.map((code) => ({ extension: [action(code)] })) }],
  }),
  ...fields,
})

describe('a prior authorization', () => {
  it.each<[what: string, resource: Tree, toPayer: boolean, toProvider: boolean, written?: string]>([
    ['that is old', authorization(), false, false],
    ['that is pended', authorization({ outcome: 'queued' }), true, true],
    ['that is partial', authorization({ outcome: 'partial' }), true, true],
    ['with a period that goes on', authorization({ preAuthRefPeriod: [{ start: '2020-01-01', end: '2026-06-15' }] }), true, true],
    ['with a period that ended', authorization({ preAuthRefPeriod: [{ end: '2026-06-14' }] }), false, false],
    ['that was created in the last year', authorization({ created: '2025-06-16' }), true, true],
    ['that changed in the last year', authorization(), true, true, '2025-06-16'],
    [
      'that was adjudicated in the last year',
      authorization({ adjudication: [{ extension: [{ url: `${PDEX}/base-ext-when-adjudicated`, valueDateTime: '2026-01-01' }] }] }),
      ...[true, true],
    ] as [string, Tree, boolean, boolean],
    ['that is denied', authorization({ outcome: 'queued' }, 'A3', 'A3'), false, true],
    ['that is denied in part', authorization({ outcome: 'queued' }, 'A3', 'A1'), true, true],
    ['for a drug', authorization({ outcome: 'queued', type: codeableConceptOf('pharmacy', 'x') }), false, false],
  ])('%s', async (_, resource, toPayer, toProvider, written = '2015-01-01') =>
    expect([await allows(resource, {}, written), await allows(resource, { view: 'provider' }, written)]).toEqual([toPayer, toProvider]),
  )
})

describe('a sensitive resource', () => {
  const labelled = { resourceType: 'Coverage', meta: { security: [{ system: 'x', code: 'SUD' }, LABEL] } }

  it('is exported only if its patients permitted that', async () => {
    expect([await allows(labelled, {}, '2015-01-01', false), await allows(labelled, {}, '2015-01-01', true)]).toEqual([false, true])
  })

  it('is one with a label of the payer', async () => {
    expect(await allows({ ...labelled, meta: { security: [{ system: 'x', code: 'SUD' }] } })).toBe(true)
    expect(await allows(labelled, { excluded: new Set() })).toBe(true)
  })
})
