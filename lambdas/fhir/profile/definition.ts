/** A StructureDefinition as checks read it: what it says about elements, and nothing for people. https://hl7.org/fhir/R4/structuredefinition.html */

export type Profile = {
  readonly url: string
  readonly version?: string
  /** What it is about: a resource type, a data type, Extension. */
  readonly type: string
  readonly base?: string
  readonly isRetired?: true
  /** One that every server has: what others bring is not trusted to be quick. */
  readonly isBuiltIn?: true
  /** The elements are a snapshot; else what differs from the base. */
  readonly isWhole: boolean
  readonly elements: readonly ProfileElement[]
  /** Of an extension: where it may stand. */
  readonly contexts?: readonly ExtensionContext[]
  readonly isModifier?: true
  /** FHIRPath that holds on what it stands on. */
  readonly contextInvariants?: readonly string[]
}

export type ExtensionContext = { readonly type: string; readonly expression: string }

/** One of ElementDefinition. `id`: with the names of slices. https://hl7.org/fhir/R4/elementdefinition.html */
export type ProfileElement = {
  readonly id: string
  readonly min?: number
  /** Infinity stands as `*`. */
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
  /** contentReference, `#id` or `url#id`: the element whose content this has, in the same elements or in another definition's. */
  readonly content?: string
}

export type ProfileType = {
  readonly code: string
  readonly profiles?: readonly string[]
  readonly targetProfiles?: readonly string[]
}

export type BindingStrength = 'required' | 'extensible' | 'preferred'

/** `max`: the value set beyond which nothing is allowed, whatever the strength. */
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

/** `isBuiltIn`: said by a profile that every server has. */
export type ProfileStatement<Said> = { readonly said: Said; readonly isBuiltIn: boolean }
