/** Narrative, in a frame without scripts. https://hl7.org/fhir/R4/narrative.html */
import { h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Tree, textOf } from '../json.ts'

/** Number of characters of markup below which the frame is low. */
const SHORT = 400

export const isNarrative = (tree: Tree): boolean => typeof tree.div === 'string' && 'status' in tree

/**
 * Shows XHTML of a resource. The frame has an opaque origin, runs no scripts and submits no forms. It inherits the policy of the page, so it
 * loads nothing from other origins.
 */
export function NarrativeView({ narrative }: { readonly narrative: Tree }) {
  const [url, setUrl] = useState('')
  const div = textOf(narrative.div) ?? ''
  useEffect(() => {
    const made = URL.createObjectURL(
      new Blob([`<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><body>${div}`], { type: 'text/html' }),
    )
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [div])
  return url === ''
    ? null
    : h('iframe', { class: div.length < SHORT ? 'narrative short' : 'narrative', title: 'Narrative', sandbox: '', src: url })
}
