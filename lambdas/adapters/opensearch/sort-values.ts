/**
 * Encodes sort values as keywords. So one field holds texts and numbers, numbers sort by value, and infinite values are possible.
 * OpenSearch sorts keywords by code point.
 */
import { decodeDouble, encodeDouble } from '../../ports/search/doubles.ts'

export const sortText = (value: string | number): string => (typeof value === 'number' ? `n${encodeDouble(value)}` : `s${value}`)

export const sortValue = (text: string): string | number => (text.startsWith('n') ? decodeDouble(text.slice(1)) : text.slice(1))
