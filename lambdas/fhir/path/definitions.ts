/** What the compiler and the validator know of R4: the shapes of types and backbone elements. search-mappings/generate makes the data. */

export type ElementShape = {
  /** A FHIR type, or the path of a backbone element. */
  readonly type: string
  readonly min?: number
  readonly list?: boolean
  /** The name of the choice this is one of: `value` for valueString. */
  readonly choice?: string
  /** Index of the code set of a required binding; `mime`: any MIME type. */
  readonly codes?: number | 'mime'
  /** Index of the list of types a reference may point to. */
  readonly targets?: number
}

export type TypeShape = {
  readonly elements: Readonly<Record<string, ElementShape>>
  /** Names of the choices one of which must be there. */
  readonly required?: readonly string[]
}

/** The codes of a value set, by code system. */
export type CodeSet = { readonly url: string; readonly codes: Readonly<Record<string, readonly string[]>> }

export type TypeDefinitions = {
  readonly resourceTypes: readonly string[]
  readonly shapes: Readonly<Record<string, TypeShape>>
  readonly codeSets: readonly CodeSet[]
  readonly targets: readonly (readonly string[])[]
}
