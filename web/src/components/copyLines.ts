// Calls of the API as lines that a person can run: with curl, or with the program itself.
import { writeJson } from '../api/json';
import { addressOf, space } from '../api/space';
import { token } from '../api/token';

export interface CallLine {
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
    path: string; // Below /api/v1/.
    body?: object;
}

// In single quotes nothing means anything but a single quote.
export const quoted = (text: string): string =>
    /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;

export function curlLine({ method, path, body }: CallLine): string {
    const parts = ['curl'];
    if (method !== 'GET') parts.push('-X', method);
    parts.push(quoted(new URL(addressOf(path), location.origin).toString()));
    // The token itself does not belong into a shell's history, nor into a chat.
    if (token.get()) parts.push('-H', '"Authorization: Bearer $TAKT_TOKEN"');
    if (body) parts.push('-H', quoted('Content-Type: application/json'), '-d', quoted(writeJson(body)));
    return parts.join(' ');
}

export function cliLine(...words: string[]): string {
    const parts = ['takt', ...words.map(quoted)];
    parts.push('--server', quoted(location.origin));
    if (space) parts.push('--namespace', quoted(space));
    return parts.join(' ');
}
