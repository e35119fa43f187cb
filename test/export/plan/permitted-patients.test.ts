/** Patients of an export for a partner: members with a permission in force at the kick-off. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Job } from '../../../lambdas/export/job/job.ts'
import { resolveJobScope } from '../../../lambdas/export/plan/job-scope.ts'
import { readWithheldPatients, storeWithheldPatients } from '../../../lambdas/export/plan/permitted-patients.ts'
import type { ExportParts } from '../../../lambdas/export/step-types.ts'
import { ExportWorld, jobOf } from '../../fixtures/exporting.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import { codeableConceptOf, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { ANN, attestation, matchInput, OTHER, OWN, provisionFor } from '../../partners/payer-exchange.ts'
import { exportPartsOf } from '../export-run.ts'

const SUD = 'http://terminology.hl7.org/CodeSystem/v3-ActCode|SUD'
const FOR_PAYER: Job['partner'] = { type: 'hl7.fhir.us.davinci-pdex#payertopayer', view: 'payer', identifiers: [OTHER] }
const FOR_PROVIDER: Job['partner'] = { type: 'hl7.fhir.us.davinci-pdex#provider-download', view: 'provider', identifiers: [OTHER] }

const patient = (id: string): Tree => ({ resourceType: 'Patient', id })
const group = (...ids: readonly string[]): Tree => ({
  ...{ resourceType: 'Group', id: 'g', type: 'person', actual: true },
  member: ids.map((id) => ({ entity: referenceTo(`Patient/${id}`) })),
})
const consent = (id: string, fields: Tree = {}): Tree => ({
  ...matchInput(ANN).parameter[2].resource,
  id: `c-${id}`,
  patient: referenceTo(`Patient/${id}`),
  provision: { ...provisionFor(OTHER), period: { start: '2000-01-01', end: '2099-12-31' } },
  ...fields,
})
const denial = (id: string): Tree => consent(id, { id: `d-${id}`, category: [codeableConceptOf('x', 'y')], provision: { type: 'deny' } })

let world: ExportWorld
beforeEach(async () => {
  world = await ExportWorld.open()
})

const partsOf = (sensitiveLabels: ExportParts['partners']['sensitiveLabels'] = 'none'): ExportParts =>
  exportPartsOf(
    { rows: new MemoryRows(), blobs: world.blobs, resources: world.store, index: world.index },
    { partners: { payer: [OWN], sensitiveLabels, payerWindowYears: 5, providerSince: '2016-01-01' } },
  )

const scopeAt = (when: number, partner: Job['partner'], asked: Partial<Job['asked']> = {}, parts = partsOf()) =>
  resolveJobScope(parts, jobOf(when, { group: 'g', asked, ...(partner === undefined ? {} : { partner }) }))

describe('an export for a payer', () => {
  it('has the members that consented and did not deny, and names the others', async () => {
    await world.save(1, ...['1', '2', '3'].map(patient), group('1', '2', '3'), consent('1'), consent('3'), denial('3'))
    const { scope, withheld } = await scopeAt(2, FOR_PAYER)
    expect([scope.patients, scope.told, withheld]).toEqual([
      ['Patient/1'],
      ['Patient/2 is not exported', 'Patient/3 is not exported'],
      [
        { patient: 'Patient/2', reason: 'no-consent' },
        { patient: 'Patient/3', reason: 'denied' },
      ],
    ])
  })

  it('counts a denial and the end of a Consent that precede the kick-off', async () => {
    await world.save(1, patient('1'), patient('2'), group('1', '2'), consent('1'), consent('2'))
    expect((await scopeAt(2, FOR_PAYER)).scope.patients).toEqual(['Patient/1', 'Patient/2'])
    await world.save(3, denial('1'), consent('2', { status: 'inactive' }))
    expect((await scopeAt(4, FOR_PAYER)).withheld?.map(({ reason }) => reason)).toEqual(['denied', 'consent-ended'])
  })

  it('has named patients only if they are members and permitted', async () => {
    await world.save(1, ...['1', '2', '3'].map(patient), group('1', '2'), consent('1'), consent('3'))
    const { scope } = await scopeAt(2, FOR_PAYER, { patients: ['Patient/1', 'Patient/2', 'Patient/3'] })
    expect([scope.patients, scope.told]).toEqual([['Patient/1'], ['Patient/3 is no member of the Group', 'Patient/2 is not exported']])
  })

  it('adds no data of members that joined since', async () => {
    await world.save(1, patient('1'), group())
    await world.save(3, group('1'), consent('1'))
    const since = jobOf(2).transactionTime
    expect((await scopeAt(4, FOR_PAYER, { since })).scope.added).toEqual([])
    expect((await scopeAt(4, undefined, { since })).scope.added).toEqual(['Patient/1'])
  })

  it('knows the labels that Consents exclude', async () => {
    await world.save(1, patient('1'), group('1'), consent('1'))
    expect((await scopeAt(2, FOR_PAYER, {}, partsOf('unknown'))).scope.patients).toEqual([])
    expect((await scopeAt(2, FOR_PAYER, {}, partsOf([SUD]))).scope.patients).toEqual(['Patient/1'])
  })
})

describe('an export for a provider', () => {
  const mark = { system: 'urn:fhir-serverless:partner', value: 'mark-of-provider' }
  const attested = (id: string, fields: Tree = {}): Tree =>
    consent(
      id,
      attestation({
        identifier: [mark],
        dateTime: '1970-01-01',
        provision: { type: 'permit', period: { start: '1970-01-01' } },
        ...fields,
      }),
    )

  it('has matched members with a stored attestation in force', async () => {
    const ids = ['1', '2', '3', '4', '5', '6']
    const ended = { provision: { type: 'permit', period: { start: '1970-01-01', end: '1970-01-02' } } }
    const ofAnother = { identifier: [{ ...mark, value: 'mark-of-another' }] }
    const stored = [attested('1'), attested('2', { status: 'inactive' }), attested('3', ended), attested('4', ofAnother)]
    const sentWithMark = attested('6', { identifier: [mark, { ...mark, value: 'mark-of-another' }] })
    await world.save(1, ...ids.map(patient), { ...group(...ids), identifier: [mark] }, ...stored, sentWithMark)
    const { scope, withheld } = await scopeAt(2, FOR_PROVIDER)
    expect([scope.patients, scope.told, withheld?.map(({ reason }) => reason)]).toEqual([
      ['Patient/1'],
      [],
      ['consent-ended', 'consent-ended', 'no-consent', 'no-consent', 'no-consent'],
    ])
  })

  it('has the members of a Group of the payer without an attestation', async () => {
    await world.save(1, patient('1'), { ...group('1'), identifier: [OTHER] }, attested('1', { status: 'inactive' }))
    expect((await scopeAt(2, FOR_PROVIDER)).scope.patients).toEqual(['Patient/1'])
  })

  it('has the same message for a named member that denied and for a stranger', async () => {
    await world.save(1, ...['1', '2', '3'].map(patient), { ...group('1', '2'), identifier: [OTHER] }, denial('1'))
    const { scope } = await scopeAt(2, FOR_PROVIDER, { patients: ['Patient/1', 'Patient/2', 'Patient/3'] })
    expect([scope.patients, scope.told]).toEqual([
      ['Patient/2'],
      ['Patient/1 is no member of the Group', 'Patient/3 is no member of the Group'],
    ])
  })

  it('leaves out members that denied, without a message', async () => {
    await world.save(1, patient('1'), patient('2'), group('1', '2'), denial('2'))
    const { scope, withheld } = await scopeAt(2, FOR_PROVIDER)
    expect([scope.patients, scope.told, withheld]).toEqual([['Patient/1'], [], [{ patient: 'Patient/2', reason: 'denied' }]])
  })
})

it('Another export has all members of the Group', async () => {
  await world.save(1, patient('1'), group('1'), denial('1'))
  const { scope, withheld } = await scopeAt(2, undefined)
  expect([scope.patients, withheld]).toEqual([['Patient/1'], undefined])
})

it('Omitted Patients are stored with their reasons', async () => {
  const parts = partsOf()
  await storeWithheldPatients(parts, 'j', 'p', [{ patient: 'Patient/1', reason: 'denied' }])
  expect(await readWithheldPatients(parts, { id: 'j', plan: 'p' })).toEqual([{ patient: 'Patient/1', reason: 'denied' }])
})
