/** Warnings about the SearchParameter of a tenant whose code a package also defines. */
import type { Issue } from '../../fhir/outcome.ts'
import type { RegisteredParameter } from '../../ports/search/index-status.ts'
import type { CustomMapping } from '../custom-mapping.ts'

/**
 * Returns warnings about codes that a package also defines, with another meaning. `mappings`: those of the written definition. `all`:
 * parameters of all tenants; those of packages have no tenant. `usable`: active parameters in the order of precedence.
 */
export function packageWarningsOf(
  mappings: readonly CustomMapping[],
  all: readonly RegisteredParameter[],
  usable: readonly CustomMapping[],
): readonly Issue[] {
  const isOfCode = (one: RegisteredParameter['mapping'], other: CustomMapping) => one.base === other.base && one.code === other.code
  const isPackaged = (own: CustomMapping): boolean =>
    all.some(({ tenant, mapping }) => tenant === '' && isOfCode(mapping, own) && mapping.field !== own.field)
  const answers = (own: CustomMapping): boolean => usable.find((each) => isOfCode(each, own))?.field === own.field
  const warn = (found: readonly CustomMapping[], effect: string): readonly Issue[] => {
    const text = `A package of this server also defines this code on ${found.map(({ base }) => base).join(', ')}: ${effect}`
    return found.length === 0 ? [] : [{ severity: 'warning', code: 'business-rule', expression: 'SearchParameter.code', text }]
  }
  const packaged = mappings.filter(isPackaged)
  const [older, newer] = [packaged.filter(answers), packaged.filter((own) => !answers(own))]
  return [
    ...warn(older, 'searches use this definition, which was there before'),
    ...warn(newer, 'searches do not use this definition, which was written later'),
  ]
}
