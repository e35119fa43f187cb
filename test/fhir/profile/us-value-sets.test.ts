/** Value sets that US Core binds as required and US regulation fixes: a wrong code is an error. https://hl7.org/fhir/us/core/STU6.1/terminology.html */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { PACKAGES_FOLDER } from '../../../search-mappings/generate/packages.ts'
import { US_VALUE_SETS } from '../../../search-mappings/generate/us-value-sets.ts'
import { checkProfiles, copyExample, US_CORE } from '../../fixtures/us-core/findings.ts'

const CDCREC = 'urn:oid:2.16.840.1.113883.6.238'
const NULL_FLAVOR = 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor'

const category = (name: string, system: string, code: string, part = 'ombCategory') => ({
  url: `${US_CORE}us-core-${name}`,
  extension: [
    { url: part, valueCoding: { system, code } },
    { url: 'text', valueString: 'x' },
  ],
})
const coded = (name: string, valueCode: string) => ({ url: `${US_CORE}us-core-${name}`, valueCode })

/** `severity code` of the findings of one extension of a patient. */
async function found(extension: object): Promise<readonly string[]> {
  const { issues } = await checkProfiles({ ...copyExample('Patient/example'), extension: [extension] }, [`${US_CORE}us-core-patient`])
  return issues
    .filter(({ expression }) => expression?.startsWith('Patient.extension[0]'))
    .map(({ severity, code }) => `${severity} ${code}`)
}

const ERROR = ['error code-invalid']

describe('a code', () => {
  it.each([
    ['race', CDCREC, ['1002-5', '2028-9', '2054-5', '2076-8', '2106-3', '2131-1'], ['0000-0', '2135-2', '1586-7']],
    ['race', NULL_FLAVOR, ['ASKU', 'UNK'], ['OTH', '2106-3']],
    ['ethnicity', CDCREC, ['2135-2', '2186-5'], ['0000-0', '2106-3']],
    ['ethnicity', NULL_FLAVOR, ['ASKU', 'UNK'], ['OTH']],
  ])('is accepted if OMB has it, and an error otherwise: %s in %s', async (name, system, right, wrong) => {
    for (const code of right) expect([code, await found(category(name, system, code))]).toEqual([code, []])
    for (const code of wrong) expect([code, await found(category(name, system, code))]).toEqual([code, ERROR])
  })

  it.each([
    ['birthsex', ['F', 'M', 'ASKU', 'OTH', 'UNK'], ['f', 'female', 'X']],
    ['sex', ['184115007', '248152002', '248153007', 'asked-declined'], ['F', 'unknown', '248152003']],
  ])('is accepted if US Core names it, and an error otherwise: %s', async (name, right, wrong) => {
    for (const code of right) expect([code, await found(coded(name, code))]).toEqual([code, []])
    for (const code of wrong) expect([code, await found(coded(name, code))]).toEqual([code, ERROR])
  })

  it('is information if its value set is not loaded', async () => {
    for (const [name, code] of [['race', '0000-0'], ['ethnicity', '0000-0']] as const)
      expect(await found(category(name, CDCREC, code, 'detailed'))).toEqual(['information not-supported'])
  }) // biome-ignore format: two rows
})

it('each value set names its public sources, and NOTICE names the package', () => {
  for (const { oid, sources } of US_VALUE_SETS)
    expect([oid, sources.filter((source) => /https:|CFR/.test(source)).length > 0]).toEqual([oid, true])
  expect(readFileSync(join(import.meta.dirname, '../../../NOTICE'), 'utf8')).toContain(`${PACKAGES_FOLDER}/us-value-sets-1.0.0`)
})
