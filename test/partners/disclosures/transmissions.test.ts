/** Provenances of exports for partners. */
import { expect, it } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { transmissionsOf } from '../../../lambdas/partners/disclosures/transmissions.ts'
import { MATCH_DEFINITIONS } from '../../fixtures/payer/match-examples.ts'
import { findErrors, profileCheckerOf } from '../../fixtures/profiles/checking.ts'
import type { Tree } from '../../fixtures/resources.ts'

const PAYER = { name: 'Payer', identifier: { system: 'http://hl7.org/fhir/sid/us-npi', value: '1992999999' } }
const patientsOf = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `Patient/${i}`)
const of = (count: number, id = 'job', payer: Parameters<typeof transmissionsOf>[1] = PAYER) =>
  transmissionsOf({ id, at: Date.UTC(2026, 0, 2), patients: patientsOf(count) }, payer) as readonly Tree[]

it('each Provenance has up to 1,000 Patients as targets, and together all of them', () => {
  expect([0, 1, 1_000, 1_001].map((count) => of(count).map(({ target }) => target.length))).toEqual([[], [1], [1_000], [1_000, 1]])
  expect(of(2_500).flatMap(({ target }) => target.map(({ reference }: Tree) => reference))).toEqual(patientsOf(2_500))
})

it('a Provenance names the payer as transmitter, at the transaction time', () => {
  const [{ recorded, agent } = {}] = of(1)
  expect([recorded, agent[0].type.coding[0].code, agent[0].who]).toEqual([
    ...['2026-01-02T00:00:00.000Z', 'transmitter'],
    { identifier: PAYER.identifier, display: 'Payer' },
  ])
  expect(of(1, 'job', { name: 'Payer' })[0]?.agent[0].who).toEqual({ display: 'Payer' })
})

it('a Provenance is valid by the profile of PDex', async () => {
  const find = profileCheckerOf(MATCH_DEFINITIONS)
  const profile = 'http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-provenance'
  const [provenance = {}] = of(1)
  expect([validate(provenance), provenance.meta.profile]).toEqual([[], [profile]])
  expect(await findErrors(find, provenance, profile)).toEqual([])
  const [agent] = provenance.agent
  expect(await findErrors(find, { ...provenance, agent: [{ ...agent, who: { reference: 'Patient/1' } }] }, profile)).not.toEqual([])
})

it('ids are those of the job, so that a repeated step writes the same lines', () => {
  expect(of(2_000)).toEqual(of(2_000))
  const ids = [...of(2_000), ...of(2_000, 'other')].map(({ id }) => id)
  expect([new Set(ids).size, ids.every((id) => /^[A-Za-z0-9.-]{1,64}$/.test(id))]).toEqual([4, true])
})
