/** A StructureDefinition reduced to its rules, without descriptive content. https://hl7.org/fhir/R4/structuredefinition.html */

export type Profile = {
  readonly url: string
  readonly version?: string
  /** Constrained type: a resource type, a data type or Extension. */
  readonly type: string
  readonly base?: string
  readonly isRetired?: true
  /** True for a profile that the server ships with. Only the rules of such profiles are trusted to be fast. */
  readonly isBuiltIn?: true
  /** Whether `elements` is a snapshot. Otherwise it is the differential to `base`. */
  readonly isWhole: boolean
  readonly elements: readonly ProfileElement[]
  /** Elements that may carry this extension. Only extensions have contexts. */
  readonly contexts?: readonly ExtensionContext[]
  readonly isModifier?: true
  /** FHIRPath rules that must hold for the element that carries the extension. */
  readonly contextInvariants?: readonly string[]
}

export type ExtensionContext = { readonly type: string; readonly expression: string }

/** Rules of one ElementDefinition. `id`: includes the names of slices. https://hl7.org/fhir/R4/elementdefinition.html */
export type ProfileElement = {
  readonly id: string
  readonly min?: number
  /** Maximum number of items. `*`: unlimited. */
  readonly max?: number | '*'
  readonly types?: readonly ProfileType[]
  readonly fixed?: unknown
  readonly pattern?: unknown
  readonly minValue?: unknown
  readonly maxValue?: unknown
  readonly maxLength?: number
  readonly regex?: string
  readonly binding?: Binding
  readonly slicing?: Slicing
  readonly constraints?: readonly ProfileConstraint[]
  /**
   * contentReference, as `#id` or `url#id`: the rules of that element, here or in another definition, also apply to the content of this
   * element.
   */
  readonly content?: string
}

export type ProfileType = {
  readonly code: string
  readonly profiles?: readonly string[]
  readonly targetProfiles?: readonly string[]
}

export type BindingStrength = 'required' | 'extensible' | 'preferred'

/** Binding of an element. `max`: value set that every code must be in, whatever the strength. */
export type Binding = { readonly strength: BindingStrength; readonly valueSet?: string; readonly max?: string }

export type Discriminator = { readonly type: 'value' | 'pattern' | 'exists' | 'type' | 'profile'; readonly path: string }

export type Slicing = {
  readonly discriminators: readonly Discriminator[]
  readonly rules: 'open' | 'closed' | 'openAtEnd'
  readonly isOrdered?: true
}

export type ProfileConstraint = {
  readonly key: string
  readonly severity: 'error' | 'warning'
  readonly human: string
  readonly expression: string
}

/** A rule with its origin. `isBuiltIn`: the rule is from a profile that the server ships with. */
export type ProfileStatement<Rule> = { readonly rule: Rule; readonly isBuiltIn: boolean }
