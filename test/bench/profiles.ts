/** `npm run bench -- profiles`: microseconds of a check against US Core, without base validation. Prints the best of many rounds. */
import { checkProfiles } from '../../lambdas/fhir/profile/check/profile-check.ts'
import { LoadingLibrary } from '../../lambdas/fhir/profile/definitions/missing-definitions.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { definitionsOf } from '../../lambdas/runtime/definitions.ts'
import { isUnit, toBaseUnits } from '../../lambdas/search/types/ucum.ts'
import { US_CORE_EXAMPLES } from '../fixtures/us-core/examples.ts'

const ROUNDS = 1_000
const EACH = 10
const KEYS = ['Observation/serum-sodium', 'Procedure/rehab', 'Patient/example', 'Observation/blood-pressure']

const library = new LoadingLibrary(definitionsOf(), { isUnit, inBaseUnits: toBaseUnits })

function check(resource: Resource): void {
  const profiles = (resource.meta?.profile ?? []) as readonly string[]
  const trees = profiles.map((canonical) => library.tree(canonical)).filter((tree) => tree !== undefined)
  const pieces = checkProfiles(resource, trees, library, { left: Number.MAX_SAFE_INTEGER })
  while (pieces.next().done !== true);
}

console.log('| example of US Core | µs |\n|---|---|')
for (const key of KEYS) {
  const resource = US_CORE_EXAMPLES.find(({ resourceType, id }) => `${resourceType}/${id}` === key)!
  do check(resource)
  while ((await library.load()) > 0)
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    for (let i = 0; i < EACH; i++) check(resource)
    best = Math.min(best, performance.now() - began)
  }
  console.log(`| ${key} | ${((best * 1_000) / EACH).toFixed(1)} |`)
}
