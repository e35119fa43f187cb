/** Resources that a search returns together with its matches. https://hl7.org/fhir/R4/search.html#include */
import { fhirError } from '../../fhir/outcome.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import { findSearchParameter, parametersOf, type SearchParameter } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'

export type Include = {
  readonly reverse: boolean
  /** Whether it also follows references of included resources, not only those of matches. */
  readonly iterate: boolean
  /** Type of the resource that has the reference. `*`: any type. */
  readonly source: string
  /** Reference parameter of that type. `*`: all of them. */
  readonly code: string
  /** Type of the resource that the reference names. Absent: any type. */
  readonly target?: string
}

const NAME = /^_(rev)?include(?::(iterate|recurse))?$/

export const isInclude = (name: string): boolean => NAME.test(name)

/**
 * Parses a value of `_include` or `_revinclude`. Throws FhirError 400 for a malformed value, an unknown type, a parameter that is no
 * reference, or a target that it cannot have.
 */
export function includeOf(name: string, value: string, custom: SearchContext['custom']): Include {
  const [, reverse, iterate] = NAME.exec(name) ?? []
  const mode = { reverse: reverse !== undefined, iterate: iterate !== undefined }
  if (value === '*') return { ...mode, source: '*', code: '*' }
  const [source = '', code = '', target, ...more] = value.split(':')
  const refuse = (expected: string) => fhirError(400, 'value', `The value of ${name} is not ${expected}`)
  if (code === '' || more.length > 0) throw refuse('of the form Type:parameter, Type:parameter:Type or *')
  for (const type of [source, target]) if (type !== undefined && !isResourceType(type)) throw refuse('of a resource type')
  const parameter = code === '*' ? undefined : findSearchParameter(source, code, custom)
  if (code !== '*' && parameter?.type !== 'reference') throw refuse(`a reference parameter of ${source}`)
  if (target !== undefined && parameter !== undefined && !parameter.targets.includes(target)) throw refuse(`a reference to ${target}`)
  return { ...mode, source, code, ...(target === undefined ? {} : { target }) }
}

/** Returns those reference parameters of a type that the include follows. */
export const referenceParametersOf = (
  { source, code }: Include,
  type: string,
  custom: SearchContext['custom'],
): readonly SearchParameter[] =>
  source !== '*' && source !== type
    ? []
    : parametersOf(type, custom).filter((parameter) => parameter.type === 'reference' && (code === '*' || parameter.code === code))
