//! Values that are worked out of a page once.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// One value of each type. They are few, so they are searched one by one.
#[derive(Default)]
pub struct Kept(RefCell<Vec<Rc<dyn Any>>>);

impl Kept {
    /// The value of this type, made if there is none. `make` may ask for values of other types.
    pub fn get<T: 'static>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let known = {
            let values = self.0.borrow();
            let mut known = values.iter().cloned();
            known.find_map(|value| value.downcast::<T>().ok())
        };
        known.unwrap_or_else(|| {
            let value = Rc::new(make());
            self.0.borrow_mut().push(Rc::clone(&value) as Rc<dyn Any>);
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_made_once_for_each_type() {
        let kept = Kept::default();
        let outer = kept.get(|| kept.get(|| 7u8).to_string());
        assert_eq!(*outer, "7");
        assert_eq!(*kept.get(|| 8u8), 7);
        assert!(Rc::ptr_eq(&outer, &kept.get(String::new)));
    }
}
