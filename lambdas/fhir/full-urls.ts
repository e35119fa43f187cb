/** What references in the entries of a Bundle mean there. https://hl7.org/fhir/R4/bundle.html#references */
import { RELATIVE_REFERENCE } from './references.ts'

/** An entry; `told`: the version it says itself that it is. */
export type VersionedEntry = { readonly told: string | undefined }

/** The entry that a reference is to; `version`: the one that the reference names. */
export type ReferencedEntry<T> = { readonly entry: T; readonly version: string | undefined }

/**
 * By their fullUrls; `from`: that of the entry with the reference. Where it names a server, a relative reference is one to that server. A
 * reference to another version than the entry says it is means something else.
 */
export function fullUrlResolver<T extends VersionedEntry>(
  known: ReadonlyMap<string, T | undefined>,
  from = '',
): (reference: string) => ReferencedEntry<T> | undefined {
  const [, base] = RESTFUL.exec(from) ?? []
  return (reference) => {
    const [, url = reference, version] = OF_A_VERSION.exec(reference) ?? []
    const entry = known.get(url) ?? (base !== undefined && RELATIVE_REFERENCE.test(url) ? known.get(`${base}/${url}`) : undefined)
    return entry === undefined || isAnother(entry, version) ? undefined : { entry, version }
  }
}

const isAnother = ({ told = '' }: VersionedEntry, version: string | undefined): boolean =>
  version !== undefined && told !== '' && told !== version

const OF_A_VERSION = /^(.+)\/_history\/([A-Za-z0-9\-.]{1,64})$/

const RESTFUL = /^(https?:\/\/.+)\/[A-Z][A-Za-z]*\/[A-Za-z0-9\-.]{1,64}$/
