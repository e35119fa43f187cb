/** R4's and US Core's own definitions and examples against R4's extensions and the profiles they name. https://hl7.org/fhir/R4/examples.html */
import { existsSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { parseJson } from '../../../lambdas/fhir/json.ts'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { readDefinitionArchive } from '../../../search-mappings/generate/archive.ts'
import { caseStepOf } from '../../fixtures/long-runs.ts'
import { findIssueTexts } from '../../fixtures/us-core/findings.ts'
import { exampleTextOf, OFFICIAL_EXAMPLES } from '../../fixtures/validation/official.ts'

/** Known faults, which HAPI's validator 8.8.1 reports as errors too: the first of each resource. */
const FAULTY: Readonly<Record<string, string>> = {
  'Bundle-hla-1': 'The extension has only these parts: url, text',
  'Bundle-valueset-expansions': 'This extension may stand only on string, code, markdown',
  'Observation-example-genetics-brcapat':
    'This extension may stand only on Patient, RelatedPerson, Person, Practitioner, FamilyMemberHistory',
}

/** Only some definitions are checked, because they are many and alike. */
const STEP = caseStepOf(20, 1)
const isDefinition = (name: string): boolean => /^(?:SearchParameter|ValueSet|CodeSystem|StructureDefinition|Bundle)-/.test(name)
const isChosen = (name: string, index: number): boolean => name in FAULTY || !isDefinition(name) || index % STEP === 0

const withoutProfile = (text: string): string => text.replace(/^\S+ /, '').replace(/ \(http:.*/, '')

describe('validation', () => {
  it('finds only the listed errors in definitions and examples of R4', async () => {
    const faulty: Record<string, string> = {}
    for (const name of OFFICIAL_EXAMPLES.filter(isChosen)) {
      const resource = parseJson(exampleTextOf(name)) as Resource
      if (typeof resource.resourceType !== 'string') continue
      const [first] = await findIssueTexts(resource, 'error')
      if (first !== undefined) faulty[name] = withoutProfile(first)
    }
    expect(faulty).toEqual(FAULTY)
  })

  /** HL7 publishes the package at https://hl7.org/fhir/us/core/STU6.1/package.tgz; no registry of npm has it. */
  const archive = process.env.FHIR_US_CORE_PACKAGE ?? '../shared/data/us-core-6.1.0.tgz'
  const reason = existsSync(archive) ? undefined : 'FHIR_US_CORE_PACKAGE names no archive of US Core 6.1.0'
  if (reason !== undefined) process.stderr.write(`The definitions of US Core are not checked: ${reason}\n`)
  const checking = reason === undefined ? it : it.skip

  checking(`finds no error in definitions of US Core${reason === undefined ? '' : `: ${reason}`}`, async () => {
    const { definitions } = await readDefinitionArchive(archive)
    const faulty: string[] = []
    for (const definition of definitions)
      for (const each of await findIssueTexts(definition, 'error')) faulty.push(`${definition.id} ${each}`)
    expect(faulty).toEqual([])
    expect(definitions.length).toBeGreaterThan(180)
  })
})
