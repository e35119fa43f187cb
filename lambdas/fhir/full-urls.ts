/** Resolution of references between the entries of a Bundle. https://hl7.org/fhir/R4/bundle.html#references */
import { RELATIVE_REFERENCE } from './references.ts'

/** Entry of a Bundle. `version`: `meta.versionId` of its resource; undefined if absent. */
export type VersionedEntry = { readonly version: string | undefined }

/** Entry that a reference resolves to. `version`: version that the reference names; undefined if it names none. */
export type ReferencedEntry<T> = { readonly entry: T; readonly version: string | undefined }

/**
 * Returns a function that resolves a reference to an entry, or to undefined. `entries`: entries by fullUrl. `from`: fullUrl of the entry
 * with the reference. If `from` is `BASE/Type/id`, a relative reference is also resolved against BASE. A reference that names a version
 * resolves only to an entry with that version, or without any.
 */
export function fullUrlResolver<T extends VersionedEntry>(
  entries: ReadonlyMap<string, T | undefined>,
  from = '',
): (reference: string) => ReferencedEntry<T> | undefined {
  const [, base] = RESTFUL.exec(from) ?? []
  return (reference) => {
    const [, url = reference, version] = VERSIONED.exec(reference) ?? []
    const entry = entries.get(url) ?? (base !== undefined && RELATIVE_REFERENCE.test(url) ? entries.get(`${base}/${url}`) : undefined)
    return entry === undefined || isAnother(entry, version) ? undefined : { entry, version }
  }
}

const isAnother = ({ version: told = '' }: VersionedEntry, version: string | undefined): boolean =>
  version !== undefined && told !== '' && told !== version

const VERSIONED = /^(.+)\/_history\/([A-Za-z0-9\-.]{1,64})$/

const RESTFUL = /^(https?:\/\/.+)\/[A-Z][A-Za-z]*\/[A-Za-z0-9\-.]{1,64}$/
