/** Attachment, as a link to save its content. https://hl7.org/fhir/R4/datatypes.html#Attachment */
import { h } from 'preact'
import { type Tree, textOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { saveFile } from '../save-file.ts'
import { targetPathOf } from './reference.ts'

export const isAttachment = (tree: Tree): boolean => 'contentType' in tree && ('data' in tree || 'url' in tree || 'title' in tree)

export function AttachmentView({ attachment }: { readonly attachment: Tree }) {
  const { title, contentType, data, url } = attachment
  const name = textOf(title) ?? textOf(contentType) ?? 'Attachment'
  const target = targetPathOf({ reference: url })
  if (target !== undefined) return h('a', { href: linkTo(target) }, name)
  if (typeof data !== 'string') return h('span', { title: textOf(url) ?? '' }, name)
  return h('button', { type: 'button', class: 'plain', onClick: () => save(data, name) }, `Save ${name}`)
}

/** Saves the content as bytes of no known type, so that the browser never runs it. */
function save(base64: string, name: string): void {
  const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))
  saveFile(name.replace(/[^\p{L}\p{N} ._-]/gu, '_'), 'application/octet-stream', [bytes])
}
