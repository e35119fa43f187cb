/** Format of search-mappings/<Type>.json. */
import type { Branch } from '../lambdas/fhir/path/branch.ts'

export type Mapping = {
  readonly code: string
  readonly type: string
  readonly url: string
  readonly expression: string
  /** Types that a reference may point to; `*`: any. */
  readonly targets?: readonly string[]
  /** Compiled expression, which locates the values. For a composite it locates the elements at which the components start. */
  readonly values: readonly Branch[]
  readonly components?: readonly ComponentMapping[]
}

export type ComponentMapping = Omit<Mapping, 'values' | 'components'> & {
  /** Compiled expression of the component, by the type of the element at which it starts. */
  readonly values: Readonly<Record<string, readonly Branch[]>>
}
