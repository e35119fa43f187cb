/** Unsaved text of the editor. The storage of the tab holds it while the browser leaves the page for a new login, and at no other time. */

/** `path`: of the resource. `etag`: of the version that the person began to edit; undefined if the server sent none. */
export type Draft = { readonly path: string; readonly text: string; readonly etag: string | undefined }

const STORED = 'fhir-explorer-draft'

let draft: Draft | undefined

/** Sets the text that the person edits. Undefined: the person has saved it or has left the editor. */
export function setDraft(next: Draft | undefined): void {
  draft = next
}

/** Returns the unsaved text of the resource, or undefined. */
export const draftOf = (path: string): Draft | undefined => (draft?.path === path ? draft : undefined)

/** Stores the text before the browser leaves the page for a login. */
export function keepDraft(): void {
  if (draft !== undefined) sessionStorage.setItem(STORED, JSON.stringify(draft))
}

/** Takes the text out of the storage after the login. */
export function takeDraft(): void {
  const stored = sessionStorage.getItem(STORED)
  sessionStorage.removeItem(STORED)
  if (stored !== null) draft = JSON.parse(stored) as Draft
}
