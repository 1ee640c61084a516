import { editor } from './en/editor';
import { fleet } from './en/fleet';
import { flow } from './en/flow';
import { form } from './en/form';
import { frame } from './en/frame';
import { lists } from './en/lists';
import { server } from './en/server';
import { space } from './en/space';
import { work } from './en/work';

export const en = { ...editor, ...frame, ...work, ...fleet, ...flow, ...form, ...lists, ...space, ...server };
