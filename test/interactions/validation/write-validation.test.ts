/** A profile that is loaded and cannot be used: nothing was checked against it. */
import { describe, expect, it } from '@jest/globals'
import { FhirError } from '../../../lambdas/fhir/outcome.ts'
import { writeValidator } from '../../../lambdas/interactions/validation/write-validation.ts'
import type { Conformance } from '../../../lambdas/ports/definitions/conformance.ts'
import { DEFAULT_TENANT } from '../../../lambdas/ports/store/tenants.ts'
import { definitionsOf } from '../../../lambdas/runtime/definitions.ts'
import { FIXED_CLOCK } from '../../fixtures/profiles/checking.ts'
import { patient } from '../../fixtures/resources.ts'

const url = 'http://example.org/unusable'
const packages = definitionsOf()
const conformance: Conformance = {
  valueSet: (canonical) => packages.valueSet(canonical),
  codeSystem: (canonical) => packages.codeSystem(canonical),
  state: async () => '',
  damage: () => [],
  profile: async (canonical) =>
    canonical === url
      ? { url, type: 'Patient', base: 'http://example.org/not-loaded', isWhole: false, elements: [] }
      : packages.profile(canonical),
}
const parts = () => ({
  conformance: async () => conformance,
  expressions: { evaluate: async () => [] },
  toldOfDefinition: async () => [],
  clock: FIXED_CLOCK,
})
const resource = patient('p', { meta: { profile: [url] } })
const BY = { tenant: DEFAULT_TENANT, requestId: 'r' }
const told = { code: 'processing', expression: 'Patient.meta.profile[0]' }

describe('a resource with an unusable profile', () => {
  it('is rejected if profiles are enforced', async () => {
    const refused = await Promise.resolve(writeValidator('enforce', parts)(resource, BY)).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(FhirError)
    expect(refused).toMatchObject({
      status: 422,
      issues: expect.arrayContaining([expect.objectContaining({ ...told, severity: 'error' })]),
    })
  })

  it('is stored with a warning if profiles only warn', async () => {
    expect(await writeValidator('warn', parts)(resource, BY)).toContainEqual(expect.objectContaining({ ...told, severity: 'warning' }))
  })
})
