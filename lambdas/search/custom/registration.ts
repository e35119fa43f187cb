/** Effect of a version of a SearchParameter on the registered custom parameters. */
import type { RegisteredParameter } from '../../ports/search/index-status.ts'
import type { CustomMapping } from '../custom-mapping.ts'

/**
 * Compares the mappings that a version defines (`wanted`) with those of its resource (`mine`). `kept`: mappings that the version also
 * defines, and active ones of the same code, which searches use until the rebuild ends. `added`: mappings to build.
 */
export function registrationOf<Parameter extends Pick<RegisteredParameter, 'mapping' | 'state'>>(
  mine: readonly Parameter[],
  wanted: readonly CustomMapping[],
): { readonly kept: readonly Parameter[]; readonly added: readonly CustomMapping[] } {
  const isSame = (a: RegisteredParameter['mapping'], b: CustomMapping): boolean => a.field === b.field && a.base === b.base
  return {
    kept: mine.filter(
      ({ mapping, state }) =>
        wanted.some((each) => isSame(mapping, each)) ||
        (state === 'active' && wanted.some(({ base, code }) => base === mapping.base && code === mapping.code)),
    ),
    added: wanted.filter((each) => !mine.some(({ mapping }) => isSame(mapping, each))),
  }
}
