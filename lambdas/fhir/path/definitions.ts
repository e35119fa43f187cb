/** R4 definitions for the compiler and the validator: shapes of types and backbone elements. search-mappings/generate creates the data. */

export type ElementShape = {
  /** FHIR type, or path of a backbone element, such as `Patient.contact`. */
  readonly type: string
  readonly min?: number
  readonly list?: boolean
  /** Name of the choice that this is a form of: `value` for valueString. */
  readonly choice?: string
  /** Index in `codeSets` of the codes of a required binding. `mime`: any MIME type. */
  readonly codes?: number | 'mime'
  /** Index in `targets` of the types that a reference may refer to. */
  readonly targets?: number
}

export type TypeShape = {
  readonly elements: Readonly<Record<string, ElementShape>>
  /** Names of the choices of which one form is required. */
  readonly required?: readonly string[]
}

/** Codes of a value set, by code system. `url`: canonical URL of the value set. */
export type CodeSet = { readonly url: string; readonly codes: Readonly<Record<string, readonly string[]>> }

export type TypeDefinitions = {
  readonly resourceTypes: readonly string[]
  readonly shapes: Readonly<Record<string, TypeShape>>
  readonly codeSets: readonly CodeSet[]
  readonly targets: readonly (readonly string[])[]
}
