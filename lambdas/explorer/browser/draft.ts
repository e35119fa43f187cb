/** Unsaved text of the editor, or of the form for requests. It outlives only the renewal of a login, in the storage of the tab. */

/** `path`: of the resource, or of the page of the form. `etag`: of the version that the person began to edit; undefined if the server sent none. */
export type Draft = { readonly path: string; readonly text: string; readonly etag: string | undefined }

const STORED = 'fhir-explorer-draft'

let draft: Draft | undefined

/** Sets the text that the person edits. Undefined: the person has saved it or has left the editor. */
export function setDraft(next: Draft | undefined): void {
  draft = next
}

/** Returns the unsaved text of the resource, or undefined. */
export const draftOf = (path: string): Draft | undefined => (draft?.path === path ? draft : undefined)

/** Draft with the name of the person who wrote it. */
type StoredDraft = { readonly person: string; readonly draft: Draft }

/** Stores the text of the person before the browser leaves the page for a login. Throws Error if the browser has no space for the text. */
export function keepDraft(person: string): void {
  if (draft === undefined) return
  try {
    sessionStorage.setItem(STORED, JSON.stringify({ person, draft } satisfies StoredDraft))
  } catch {
    throw new Error('The login has expired, and your text is too large to keep during a new one: copy the text, and load the page again')
  }
}

/** Takes the text out of the storage after the login. The text of another person is dropped. */
export function takeDraft(person: string): void {
  const stored = sessionStorage.getItem(STORED)
  sessionStorage.removeItem(STORED)
  const kept = stored === null ? undefined : (JSON.parse(stored) as StoredDraft)
  if (kept?.person === person) draft = kept.draft
}
