/**
 * `node test/bench/validate.ts`: times of validation, of compartments, and of the values of all search parameters, divided by that of JSON.parse
 * of the same text.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compartmentsOf } from '../../lambdas/fhir/compartment.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import { parametersOf } from '../../lambdas/search/parameters.ts'
import { PACKAGE_FOLDER } from '../../search-mappings/generate/hl7.ts'

const TYPES = [
  'Patient',
  'Observation',
  'Encounter',
  'Condition',
  'Claim',
  'ExplanationOfBenefit',
  'MedicationRequest',
  'DiagnosticReport',
  'Procedure',
]

const WORK: Readonly<Record<string, (resource: Resource) => unknown>> = {
  validate,
  compartments: (resource) => compartmentsOf(resource),
  parameters: (resource) => parametersOf(resource.resourceType).map(({ values }) => values(resource)),
}

/** Returns microseconds per resource: the best of many rounds, because other processes only add to the time. */
function cost<T>(items: readonly T[], work: (item: T) => unknown): number {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 60; round++) {
    const start = performance.now()
    for (let repeat = 0; repeat < 20; repeat++) for (const item of items) work(item)
    best = Math.min(best, performance.now() - start)
  }
  return (best * 1000) / 20 / items.length
}

console.log(['type', 'kB', 'parse µs', ...Object.keys(WORK)].map((text) => text.padEnd(14)).join(''))
for (const type of TYPES) {
  const names = readdirSync(PACKAGE_FOLDER).filter((name) => name.startsWith(`${type}-`))
  const resources = names.map((name) => JSON.parse(readFileSync(join(PACKAGE_FOLDER, name), 'utf8')) as Resource)
  const texts = resources.map((resource) => JSON.stringify(resource))
  const size = texts.reduce((sum, { length }) => sum + length, 0) / texts.length / 1024
  const parse = cost(texts, (text) => JSON.parse(text))
  const ratios = Object.values(WORK).map((work) => (cost(resources, work) / parse).toFixed(2))
  console.log([type.slice(0, 13), size.toFixed(1), parse.toFixed(1), ...ratios].map((text) => text.padEnd(14)).join(''))
}
