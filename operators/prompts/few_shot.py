"""Few-shot prompts for pretrained models: example pairs, then the source, then the target's label."""

from operators.errors import UsageError
from operators.languages import language
from operators.prompts.prompt import EndOfLine, Prompt, Vocabulary
from operators.prompts.template import FewShotTemplate, few_shot_templates


def few_shot_prompt(vocabulary: Vocabulary, template: FewShotTemplate) -> Prompt:
    """A prompt of example pairs with an empty line between them; without pairs, only the labels."""
    shots = "".join(
        f"{template.source_label} {pair.source}\n{template.target_label} {pair.target}\n\n"
        for pair in template.pairs
    )
    head = vocabulary.tokenize(template.head + shots + template.source_label)
    return Prompt(
        vocabulary=vocabulary,
        head=(*vocabulary.begin, *head),
        lead=" ",
        tail=tuple(vocabulary.tokenize("\n" + template.target_label)),
        unfinished_tail=tuple(vocabulary.tokenize("\n" + template.unfinished_label))
        if template.unfinished_label
        else None,
        stop=EndOfLine(vocabulary),
        joint=language(template.language).joint,
        # Only models that were trained to translate speech are prompted without examples.
        knows_unfinished=not template.pairs,
    )


def find_examples(source: str, target: str) -> FewShotTemplate:
    """Our examples for one direction. Raises `UsageError` for a direction without examples."""
    wanted = language(source).name, language(target).name
    for template in few_shot_templates():
        if (template.source_language, template.language) == wanted:
            return template
    if wanted[0] == wanted[1]:
        raise UsageError(
            f"speech and captions would both be {wanted[0]}; choose another language with --to or --from"
        )
    known = ", ".join(f"{one.source_language} to {one.language}" for one in few_shot_templates())
    raise UsageError(
        f"there are no examples for {wanted[0]} to {wanted[1]}, and this pretrained model needs them; "
        f"choose one of {known}, another model (`surtitle models --from {wanted[0]} --to {wanted[1]}` lists "
        "them), or give examples of your own with --template"
    )
