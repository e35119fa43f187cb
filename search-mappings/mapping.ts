/** The format of search-mappings/<Type>.json. */
import type { Branch } from '../lambdas/fhir/path/branch.ts'

export type Mapping = {
  readonly code: string
  readonly type: string
  readonly url: string
  readonly expression: string
  /** Of a reference: the types it may point to; `*`: any. */
  readonly targets?: readonly string[]
  /** Where the values are: the expression, compiled. Of a composite, where its components start from. */
  readonly values: readonly Branch[]
  readonly components?: readonly ComponentMapping[]
}

export type ComponentMapping = Omit<Mapping, 'values' | 'components'> & {
  /** The values, by the type of what the composite's own values are. */
  readonly values: Readonly<Record<string, readonly Branch[]>>
}
